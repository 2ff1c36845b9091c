// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/pools.hpp>

#include "random_plan.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>

namespace {

std::int64_t bytes(zero::execution_plan const& plan, zero::pool p) {
  return plan.pools.rows[static_cast<std::size_t>(p)].bytes;
}

TEST_CASE("pools hold what the table of stages says, padding included") {
  std::mt19937 random(51);
  for (int round = 0; round < 400; ++round) {
    auto const plan = zero::test::draw_case(random).plan();
    auto const& c = plan.config;
    std::int64_t parameters = 0;
    std::int64_t gradients = 0;
    std::int64_t optimizer = 0;
    for (auto const& r : plan.layout.ranges) {
      bool const resident = plan.layout.units[static_cast<std::size_t>(r.unit)].resident;
      auto const stage = c.stage_of(r.unit);
      auto const n = std::int64_t{c.world};
      auto const p = zero::bytes_of(r.type);
      parameters += r.elements * p / (stage == 3 && !resident ? n : 1);
      if (!r.frozen) {
        gradients += r.elements * (c.native_accumulate ? p : 4) / (stage >= 2 ? n : 1);
        auto const k = 4 * c.moments + (r.type == zero::dtype::fp32 ? 0 : 4);
        optimizer += r.elements * k / (stage >= 1 ? n : 1);
      }
    }
    CHECK(bytes(plan, zero::pool::parameters) == parameters);
    CHECK(bytes(plan, zero::pool::gradients) == gradients);
    CHECK(bytes(plan, zero::pool::optimizer) == optimizer);
    if (c.world == 1) {
      CHECK(bytes(plan, zero::pool::parameter_slots) == 0);
      CHECK(bytes(plan, zero::pool::receive) == 0);
    }
    if (c.stage < 3 && c.unit_stages.empty()) {
      CHECK(bytes(plan, zero::pool::parameter_slots) == 0);
    }
  }
}

TEST_CASE("the closed form counts no padding and nothing less") {
  std::mt19937 random(52);
  for (int round = 0; round < 400; ++round) {
    auto const plan = zero::test::draw_case(random).plan();
    for (std::size_t p = 0; p < zero::pool_count; ++p) {
      CHECK(plan.pools.rows[p].formula <= plan.pools.rows[p].bytes);
    }
    CHECK(plan.formula_bytes() <= plan.device_bytes());
  }
}

TEST_CASE("a receive piece is bounded by piece_bytes, or by one norm block of every other rank") {
  std::mt19937 random(53);
  for (int round = 0; round < 400; ++round) {
    auto const plan = zero::test::draw_case(random).plan();
    CHECK(plan.pools.receive_bytes <= std::max(plan.config.schedule.piece_bytes,
                                               zero::norm_block * 4 * (plan.config.world - 1)));
    CHECK(bytes(plan, zero::pool::receive) == 2 * plan.pools.receive_bytes);
  }
}

TEST_CASE("every pool has a name") {
  for (int p = 0; p < zero::pool_count; ++p) {
    CHECK(zero::name(static_cast<zero::pool>(p))[0] != '\0');
  }
}

}  // namespace
