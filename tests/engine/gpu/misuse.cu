// SPDX-License-Identifier: Apache-2.0
#include "tests/laws/engine_misuse.hpp"
#include "tests/support/gpu_platform.cuh"
#include "tests/support/stack.hpp"

#include <zero/core/dtype.hpp>
#include <zero/policy/stage.hpp>

#include <doctest/doctest.h>

// The host's laws of misuse on a GPU, where a failure meets work that is still in the streams.

namespace {

using platform = zero::test::local_gpu_platform;
using stack = zero::test::stack::model<zero::bf16>;

template <int Stage>
using engine = zero::laws::engine_on<platform, stack, zero::Stage<Stage>>;

stack const layers = zero::test::stack::make<zero::bf16>(1000);

TEST_CASE("after an error each rank on a GPU says which step it has behind it") {
  zero::laws::progress_law<platform, engine<2>>(layers);
  zero::laws::progress_law<platform, engine<3>>(layers);
}

TEST_CASE("a loop over micro-steps that is left before its end fails on every rank on a GPU") {
  zero::laws::left_loops_law<platform, engine<3>>(layers);
}

}  // namespace
