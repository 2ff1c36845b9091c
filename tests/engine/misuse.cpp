// SPDX-License-Identifier: Apache-2.0
#include "tests/laws/engine_misuse.hpp"
#include "tests/support/host_platform.hpp"
#include "tests/support/stack.hpp"
#include "tests/support/zoo.hpp"

#include <zero/core/dtype.hpp>
#include <zero/lease.hpp>
#include <zero/passes.hpp>
#include <zero/policy/stage.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace {

using platform = zero::test::host_platform;
using stack = zero::test::stack::model<zero::bf16>;

template <int Stage>
using engine = zero::laws::engine_on<platform, stack, zero::Stage<Stage>>;

stack const layers = zero::test::stack::make<zero::bf16>(1000);

// Leases are move-only and not assignable.
using forward_lease = decltype(std::declval<engine<0>&>().forward(&stack::layers, 0));
using backward_lease = decltype(std::declval<engine<0>&>().backward(&stack::layers, 0));
static_assert(std::is_nothrow_move_constructible_v<forward_lease>);
static_assert(std::is_nothrow_move_constructible_v<backward_lease>);
static_assert(!std::is_copy_constructible_v<backward_lease>);
static_assert(!std::is_move_assignable_v<backward_lease>);

// Where a loop is, one object knows.
static_assert(!std::is_move_constructible_v<zero::MicroSteps<engine<0>>>);
static_assert(!std::is_copy_assignable_v<zero::MicroSteps<engine<0>>>);

TEST_CASE("a call out of place names what was asked for and what was expected") {
  zero::laws::wrong_calls_law<platform, engine<0>>(layers);
  zero::laws::wrong_calls_law<platform, engine<3>>(layers);
}

TEST_CASE("an exception on one rank reaches the others") {
  zero::laws::exceptions_law<platform, engine<2>>(layers);
  zero::laws::exceptions_law<platform, engine<3>>(layers);
}

TEST_CASE("a loop over micro-steps that is left before its end fails everywhere at once") {
  zero::laws::left_loops_law<platform, engine<1>>(layers);
  zero::laws::left_loops_law<platform, engine<3>>(layers);
}

TEST_CASE("ranks that part ways are told so") {
  zero::laws::divergence_law<platform, engine<1>>(layers);
  zero::laws::divergence_law<platform, engine<3>>(layers);
}

TEST_CASE("a rank that stalls is named after the limit") {
  zero::laws::stall_law<platform, engine<0>>(layers);
  zero::laws::stall_law<platform, engine<3>>(layers);
}

TEST_CASE("after an error the engine throws it again") {
  zero::laws::unusable_law<platform, engine<1>>(layers);
  zero::laws::unusable_law<platform, engine<3>>(layers);
}

TEST_CASE("after an error each rank says which step it has behind it") {
  zero::laws::progress_law<platform, engine<0>>(layers);
  zero::laws::progress_law<platform, engine<2>>(layers);
  zero::laws::progress_law<platform, engine<3>>(layers);
}

TEST_CASE("a step that a rank did not update whole is not behind it") {
  zero::laws::torn_step_law<platform, engine<1>>(layers);
  zero::laws::torn_step_law<platform, engine<3>>(layers);
}

TEST_CASE("mistakes of one call alone leave the engine as it is") {
  zero::laws::harmless_mistakes_law<platform, engine<0>>(layers);
  zero::laws::harmless_mistakes_law<platform, engine<3>>(layers);
}

TEST_CASE("leases that overlap, and gradients that hold a sum") {
  auto const zoo = zero::test::zoo::make<zero::bf16>();
  using model = zero::test::zoo::model<zero::bf16>;
  zero::laws::overlapping_leases_law<platform,
                                     zero::laws::engine_on<platform, model, zero::Stage<3>>>(zoo);
}

TEST_CASE("a fault in a queue reaches all ranks") {
  zero::laws::queue_fault_law<platform, engine<1>>(layers);
  zero::laws::queue_fault_law<platform, engine<3>>(layers);
}

}  // namespace
