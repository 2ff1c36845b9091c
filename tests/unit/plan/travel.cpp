// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/travel.hpp>

#include "random_plan.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <random>

using zero::pool;

namespace {

zero::pool_travel of(zero::execution_plan const& plan, pool p) {
  return zero::travel_of(plan)[static_cast<std::size_t>(p)];
}

/// Two equal trained units of bf16, opened one after the other.
zero::execution_plan two_units(int stage, bool native) {
  zero::test::random_case c;
  c.units = 2;
  for (std::int32_t u = 0; u < 2; ++u) {
    zero::parameter p;
    p.elements = 100'000;
    p.type = zero::dtype::bf16;
    p.unit = u;
    c.parameters.push_back(p);
    zero::test::visit(c.program.forward, zero::phase::forward, u);
  }
  for (std::int32_t u = 2; u-- > 0;) {
    zero::test::visit(c.program.backward, zero::phase::backward, u);
  }
  c.config.world = 4;
  c.config.stage = stage;
  c.config.native_reduction = native;
  c.config.schedule.residency_bytes = 0;
  return c.plan();
}

}  // namespace

TEST_CASE("bytes come into the pools that the stage says, and into no others") {
  for (int stage = 0; stage < 4; ++stage) {
    for (bool const native : {false, true}) {
      CAPTURE(stage);
      CAPTURE(native);
      auto const plan = two_units(stage, native);
      CHECK(of(plan, pool::parameters).received == (stage == 1 || stage == 2));
      CHECK(of(plan, pool::parameters).sent == (stage >= 1));
      CHECK(of(plan, pool::parameter_slots).received == (stage == 3));
      CHECK(of(plan, pool::gradient_slots).sent);
      CHECK(of(plan, pool::gradient_slots).received == native);
      // The sums of stage 0 are gathered; accumulators travel where several micro-steps are added.
      CHECK(of(plan, pool::gradients).received == (stage == 0 || (stage == 1 && native)));
      CHECK(of(plan, pool::gradients).sent == (stage <= 1));
      CHECK(of(plan, pool::receive).received != native);
      CHECK_FALSE(of(plan, pool::receive).sent);
      CHECK(of(plan, pool::gradient_slots).summed != native);
      CHECK(of(plan, pool::control).received);
    }
  }
}

TEST_CASE("optimizer states never travel, and what travels has bytes; one rank moves nothing") {
  std::mt19937 random(7);
  for (int turn = 0; turn < 300; ++turn) {
    CAPTURE(turn);
    auto const c = zero::test::draw_case(random);
    auto const plan = c.plan();
    auto const travel = zero::travel_of(plan);
    for (int i = 0; i < zero::pool_count; ++i) {
      auto const& t = travel[static_cast<std::size_t>(i)];
      bool const moved = t.sent || t.received;
      CAPTURE(zero::name(static_cast<pool>(i)));
      CHECK((!moved || plan.pools.rows[static_cast<std::size_t>(i)].bytes > 0));
      CHECK((!moved || c.config.world > 1));
      CHECK((!moved || static_cast<pool>(i) != pool::optimizer));
    }
  }
}
