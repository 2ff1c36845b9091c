// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/layout.hpp>

#include "random_plan.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace {

using zero::test::draw_case;

TEST_CASE("parameters are aligned, do not overlap, and lie in a range of their type and fate") {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    auto const plan = draw_case(random).plan();
    std::vector<std::int64_t> end(plan.layout.ranges.size(), 0);
    std::vector<std::int64_t> payload(plan.layout.ranges.size(), 0);
    for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
      auto const& p = plan.parameters[i];
      auto const& place = plan.layout.places[i];
      CHECK((place.range < 0) == (p.elements == 0));
      if (place.range < 0) {
        continue;
      }
      auto const r = static_cast<std::size_t>(place.range);
      auto const& range = plan.layout.ranges[r];
      CHECK(range.type == p.type);
      CHECK(range.frozen == p.traits.frozen);
      CHECK((range.unit == p.unit || range.unit == plan.layout.resident_unit));
      CHECK(place.offset * zero::bytes_of(p.type) % 256 == 0);
      CHECK(place.offset >= end[r]);
      end[r] = place.offset + p.elements;
      payload[r] += p.elements;
    }
    for (std::size_t r = 0; r < plan.layout.ranges.size(); ++r) {
      auto const& range = plan.layout.ranges[r];
      CHECK(end[r] <= range.elements);
      CHECK(range.payload == payload[r]);
      CHECK(range.shard() % zero::shard_granule_elements == 0);
      CHECK(range.elements == range.shard() * plan.config.world);
      CHECK(range.elements - end[r] < plan.config.world * 256 + 256);
    }
  }
}

TEST_CASE("units, their order, places and shard borders do not depend on the stage") {
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    auto c = draw_case(random);
    c.config.unit_stages.clear();
    c.config.stage = 0;
    auto const base = c.plan();
    for (int stage = 1; stage <= 3; ++stage) {
      c.config.stage = stage;
      auto const other = c.plan();
      REQUIRE(other.layout.ranges.size() == base.layout.ranges.size());
      CHECK(other.layout.resident_unit == base.layout.resident_unit);
      CHECK(other.layout.norm_blocks == base.layout.norm_blocks);
      for (std::size_t r = 0; r < base.layout.ranges.size(); ++r) {
        CHECK(other.layout.ranges[r].unit == base.layout.ranges[r].unit);
        CHECK(other.layout.ranges[r].shard() == base.layout.ranges[r].shard());
        CHECK(other.layout.ranges[r].first_block == base.layout.ranges[r].first_block);
      }
      for (std::size_t i = 0; i < base.layout.places.size(); ++i) {
        CHECK(other.layout.places[i].range == base.layout.places[i].range);
        CHECK(other.layout.places[i].offset == base.layout.places[i].offset);
      }
    }
  }
}

TEST_CASE("offsets inside a range do not depend on the number of ranks") {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    auto c = draw_case(random);
    auto const base = c.plan();
    c.config.world = 1 + static_cast<int>(random() % 9);
    auto const other = c.plan();
    for (std::size_t i = 0; i < base.layout.places.size(); ++i) {
      CHECK(other.layout.places[i].range == base.layout.places[i].range);
      CHECK(other.layout.places[i].offset == base.layout.places[i].offset);
    }
  }
}

TEST_CASE("one rank shards nothing; resident and tied units follow stage 2") {
  std::mt19937 random(4);
  for (int round = 0; round < 300; ++round) {
    auto const plan = draw_case(random).plan();
    for (std::size_t u = 0; u < plan.layout.units.size(); ++u) {
      auto const& unit = plan.layout.units[u];
      auto const stage = plan.config.stage_of(static_cast<std::int32_t>(u));
      bool const several = plan.config.world > 1;
      CHECK(unit.in.state.sharded() == (several && stage >= 1));
      CHECK(unit.in.gradients.sharded() == (several && stage >= 2));
      CHECK(unit.in.parameters.sharded() == (several && stage == 3 && !unit.resident));
    }
  }
}

TEST_CASE("small and marked parameters are resident, empty ones nowhere") {
  zero::test::random_case c;
  c.units = 1;
  auto add = [&](std::int64_t elements, bool marked) {
    zero::parameter p;
    p.elements = elements;
    p.type = zero::dtype::bf16;
    p.traits.resident = marked;
    c.parameters.push_back(p);
  };
  add(1000, false);
  add(1001, false);
  add(5000, true);
  add(0, true);
  zero::test::visit(c.program.forward, zero::phase::forward, 0);
  zero::test::visit(c.program.backward, zero::phase::backward, 0);
  c.config.schedule.residency_bytes = 2000;
  auto const plan = c.plan();
  auto unit_of = [&](std::size_t i) {
    return plan.layout.ranges[static_cast<std::size_t>(plan.layout.places[i].range)].unit;
  };
  CHECK(plan.layout.resident_unit == 1);
  CHECK(unit_of(0) == 1);
  CHECK(unit_of(1) == 0);
  CHECK(unit_of(2) == 1);
  CHECK(plan.layout.places[3].range == -1);
}

}  // namespace
