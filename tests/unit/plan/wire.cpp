// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/wire.hpp>

#include "random_plan.hpp"

#include <doctest/doctest.h>

#include <cstdint>

namespace {

using zero::collective;

/// Equal trained units of one bf16 parameter whose size every number of ranks below divides.
zero::test::random_case equal_units(int world, int stage) {
  zero::test::random_case c;
  c.units = 3;
  for (std::int32_t u = 0; u < 3; ++u) {
    zero::parameter p;
    p.elements = 256 * 12 * 10;
    p.type = zero::dtype::bf16;
    p.unit = u;
    c.parameters.push_back(p);
    zero::test::visit(c.program.forward, zero::phase::forward, u);
  }
  for (std::int32_t u = 3; u-- > 0;) {
    zero::test::visit(c.program.backward, zero::phase::backward, u);
  }
  c.config.world = world;
  c.config.stage = stage;
  return c;
}

/// Bytes of a step of k micro-steps in the steady state.
std::int64_t step_bytes(zero::execution_plan const& plan, int k) {
  std::int64_t bytes = zero::wire_of(plan, plan.step).total().bytes;
  for (int i = 0; i < k; ++i) {
    auto const at = zero::index_of({true, i == 0, i + 1 == k, i == 0});
    bytes += zero::wire_of(plan, plan.passes[static_cast<std::size_t>(at)]).total().bytes;
  }
  return bytes;
}

TEST_CASE("the schedule puts on the wire what the table of stages says") {
  for (int const world : {2, 3, 4}) {
    for (int const k : {1, 2, 5}) {
      std::int64_t const n = world;
      std::int64_t const psi = 3 * 256 * 12 * 10;
      std::int64_t const unit = psi / 3;
      std::int64_t const agree = (n - 1) * zero::agree_record_bytes;
      std::int64_t const p = 2;
      std::int64_t const g = 4;
      std::int64_t const w = k > 1 ? g : p;
      auto bytes = [&](int stage) {
        return step_bytes(equal_units(world, stage).plan(), k) - agree;
      };
      CHECK(bytes(0) == (n - 1) * psi / n * (w + g));
      CHECK(bytes(1) == (n - 1) * psi / n * (w + p));
      CHECK(bytes(2) == (n - 1) * psi / n * (p * k + p));
      // the unit at the turn of the pass is gathered once for both phases
      CHECK(bytes(3) == (n - 1) * (3 * psi - unit) / n * p * k);
    }
  }
}

TEST_CASE("one rank sends nothing") {
  for (int stage = 0; stage <= 3; ++stage) {
    CHECK(step_bytes(equal_units(1, stage).plan(), 2) == 0);
  }
}

TEST_CASE("no stage all-reduces") {
  for (int stage = 0; stage <= 3; ++stage) {
    auto const plan = equal_units(4, stage).plan();
    for (auto const& pass : plan.passes) {
      CHECK(zero::wire_of(plan, pass)[collective::all_reduce].count == 0);
    }
  }
}

}  // namespace
