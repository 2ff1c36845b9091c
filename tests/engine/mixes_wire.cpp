// SPDX-License-Identifier: Apache-2.0
#include "tests/laws/engine_mixes.hpp"
#include "tests/support/host_platform.hpp"
#include "tests/support/stack.hpp"
#include "tests/support/zoo.hpp"

#include <zero/core/dtype.hpp>
#include <zero/policy/accumulate.hpp>
#include <zero/policy/reduction.hpp>

#include <doctest/doctest.h>

// What mixes of stages cost: bytes on the wire and bytes of pools.

namespace {

using platform = zero::test::host_platform;
using zoo = zero::test::zoo::model<zero::bf16>;

TEST_CASE("each unit of a mix costs what its own stage costs") {
  zero::laws::mixes_cost_what_their_units_cost<platform>(
      zero::test::zoo::make<zero::bf16>(), 60, 41);
}

TEST_CASE("the same for a plain stack of layers") {
  zero::laws::mixes_cost_what_their_units_cost<platform>(
      zero::test::stack::make<zero::bf16>(5003), 60, 42);
}

TEST_CASE("the same for the communicator's own reduction of native accumulators") {
  using reduction = zero::Reduction<zero::Native>;
  using accumulate = zero::Accumulate<zero::Native>;
  zero::laws::mixes_cost_what_their_units_cost<platform, zoo, reduction, accumulate>(
      zero::test::zoo::make<zero::bf16>(), 30, 43);
}

}  // namespace
