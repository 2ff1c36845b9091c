// SPDX-License-Identifier: Apache-2.0
#include "tests/laws/engine_wire.hpp"
#include "tests/support/host_platform.hpp"
#include "tests/support/stack.hpp"
#include "tests/support/zoo.hpp"

#include <zero/core/dtype.hpp>
#include <zero/policy/accumulate.hpp>
#include <zero/policy/reduction.hpp>
#include <zero/policy/stage.hpp>

#include <doctest/doctest.h>

namespace {

using platform = zero::test::host_platform;
using zoo = zero::test::zoo::model<zero::bf16>;
using stack = zero::test::stack::model<zero::bf16>;

template <int Stage>
using stack_engine = zero::laws::engine_on<platform, stack, zero::Stage<Stage>>;

TEST_CASE("the wire carries what the schedule and the closed form say") {
  zero::laws::wire_laws<platform>(zero::test::zoo::make<zero::bf16>());
}

TEST_CASE("the same for a plain stack of layers") {
  zero::laws::wire_laws<platform>(zero::test::stack::make<zero::bf16>(5003));
}

TEST_CASE("the same for the communicator's own reduction, and native accumulators") {
  auto const model = zero::test::zoo::make<zero::bf16>();
  zero::laws::wire_laws<platform, zoo, zero::Reduction<zero::Native>>(model);
  zero::laws::wire_laws<platform, zoo, zero::Accumulate<zero::Native>>(model);
}

TEST_CASE("the table of the stages holds where nothing is padded") {
  for (std::int64_t const k : {1, 3}) {
    auto const micro_steps = static_cast<double>(k);
    double const wire = k == 1 ? 2 : 4;  // wide with several micro-steps
    // Bytes an element, p = 2 and g = 4: (w + g), (w + p), (p k + p), 3 p k.
    zero::laws::table_law<platform, stack_engine<0>>(4, k, wire + 4, 0);
    zero::laws::table_law<platform, stack_engine<1>>(4, k, wire + 2, 0);
    zero::laws::table_law<platform, stack_engine<2>>(4, k, 2 * micro_steps + 2, 0);
    // The last layer's forward and backward are one visit group.
    zero::laws::table_law<platform, stack_engine<3>>(4, k, 6 * micro_steps, 2 * micro_steps);
  }
}

}  // namespace
