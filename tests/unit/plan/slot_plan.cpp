// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/slot_plan.hpp>

#include "random_plan.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <random>

namespace {

void check_slots(zero::slot_plan const& plan) {
  std::int64_t end = 0;
  REQUIRE(plan.slot_offsets.size() == plan.slot_bytes.size());
  for (std::size_t s = 0; s < plan.slot_bytes.size(); ++s) {
    CHECK(plan.slot_offsets[s] == end);
    end += plan.slot_bytes[s];
  }
  CHECK(plan.bytes() == end);
  for (auto const& interval : plan.intervals) {
    REQUIRE(interval.slot >= 0);
    CHECK(plan.slot_bytes[static_cast<std::size_t>(interval.slot)] >= interval.bytes);
  }
  for (std::size_t i = 0; i < plan.intervals.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {  // those of one slot do not meet
      auto const& a = plan.intervals[k];
      auto const& b = plan.intervals[i];
      CHECK((a.slot != b.slot || a.close < b.open || b.close < a.open));
    }
  }
}

}  // namespace

TEST_CASE("slots lie one behind the other and hold one unit at a time") {
  std::mt19937 random(33);
  for (int round = 0; round < 300; ++round) {
    auto const plan = zero::test::draw_case(random).plan();
    check_slots(plan.slots.parameters);
    check_slots(plan.slots.gradients);
  }
}

TEST_CASE("only units whose parameters are shared out have a slot for them") {
  std::mt19937 random(34);
  for (int round = 0; round < 300; ++round) {
    auto const plan = zero::test::draw_case(random).plan();
    for (auto const& interval : plan.slots.parameters.intervals) {
      CHECK(plan.layout.unit(interval.unit).in.parameters.sharded());
    }
    for (auto const& interval : plan.slots.gradients.intervals) {
      CHECK(plan.layout.unit(interval.unit).trained);
    }
  }
}
