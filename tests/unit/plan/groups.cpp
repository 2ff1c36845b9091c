// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/groups.hpp>

#include "random_plan.hpp"

#include <zero/core/error.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>

static_assert(sizeof(zero::update_segment) == 24, "control.hpp plans 24 bytes a segment");

TEST_CASE("every trained element lies in exactly one segment, of its parameter's group") {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    auto const c = zero::test::draw_case(random);
    auto const plan = c.plan();
    CHECK(zero::count_segments(plan.layout, plan.parameters) ==
          static_cast<std::int64_t>(plan.groups.segments.size()));
    for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
      auto const& p = plan.parameters[i];
      auto const& place = plan.layout.places[i];
      if (place.range < 0 || p.traits.frozen) {
        continue;
      }
      int covering = 0;
      auto const r = static_cast<std::size_t>(place.range);
      for (auto s = plan.groups.first_segment[r]; s < plan.groups.first_segment[r + 1]; ++s) {
        auto const& segment = plan.groups.segments[static_cast<std::size_t>(s)];
        if (segment.begin <= place.offset && place.offset + p.elements <= segment.end) {
          ++covering;
          auto const& group = plan.groups.groups[static_cast<std::size_t>(segment.group)];
          CHECK(group.lr_scale == p.traits.lr_scale);
          CHECK(group.weight_decay == p.traits.weight_decay);
        }
      }
      CHECK(covering == 1);
    }
  }
}

TEST_CASE("clipped segments of all shards together are the segments of the range") {
  std::mt19937 random(12);
  for (int round = 0; round < 200; ++round) {
    auto const plan = zero::test::draw_case(random).plan();
    for (std::size_t r = 0; r < plan.layout.ranges.size(); ++r) {
      auto const& range = plan.layout.ranges[r];
      std::int64_t whole = 0;
      for (auto s = plan.groups.first_segment[r]; s < plan.groups.first_segment[r + 1]; ++s) {
        auto const& segment = plan.groups.segments[static_cast<std::size_t>(s)];
        whole += segment.end - segment.begin;
      }
      std::int64_t parts = 0;
      for (int rank = 0; rank < plan.config.world; ++rank) {
        for (auto const& s : zero::clip_segments(plan.groups,
                                                 static_cast<std::int32_t>(r),
                                                 rank * range.shard,
                                                 (rank + 1) * range.shard)) {
          CHECK(s.begin >= 0);
          CHECK(s.end <= range.shard);
          parts += s.end - s.begin;
        }
      }
      CHECK(parts == whole);
    }
  }
}

TEST_CASE("more than 16 groups are refused with a sentence") {
  zero::test::random_case c;
  c.units = 1;
  for (int i = 0; i < 17; ++i) {
    zero::parameter p;
    p.elements = 100;
    p.traits.lr_scale = 1.0 + i;
    c.parameters.push_back(p);
  }
  zero::test::visit(c.program.forward, zero::phase::forward, 0);
  zero::test::visit(c.program.backward, zero::phase::backward, 0);
  CHECK_THROWS_WITH_AS(static_cast<void>(c.plan()),
                       "zero: more than 16 different pairs of lr_scale and weight_decay; use fewer",
                       zero::logic_error);
}
