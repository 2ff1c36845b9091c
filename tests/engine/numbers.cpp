// SPDX-License-Identifier: Apache-2.0
#include "tests/laws/engine_numbers.hpp"
#include "tests/support/host_platform.hpp"
#include "tests/support/zoo.hpp"

#include <zero/core/dtype.hpp>

#include <doctest/doctest.h>

namespace {

using platform = zero::test::host_platform;
using model = zero::test::zoo::model<zero::bf16>;

model const zoo = zero::test::zoo::make<zero::bf16>();

TEST_CASE("each step equals the reference in FP64") {
  zero::laws::reference_law<platform>(zoo);
}

TEST_CASE("exact gradients: all ranks, micro-steps and stages agree bit for bit") {
  zero::laws::exact_gradients_agree<platform>(zoo, {1, 2, 3, 4, 5, 7, 8});
}

TEST_CASE("one explicit scale: a number, device memory, mean or sum") {
  for (int stage = 0; stage < 4; ++stage) {
    zero::laws::gradient_scale_law<platform>(zoo, 3, stage);
  }
  zero::laws::gradient_scale_law<platform>(zoo, 1, 0);
}

TEST_CASE("a scale that is no number skips the step") {
  zero::laws::bad_scale_law<platform>(zoo);
}

TEST_CASE("zeros and huge gradients are legal") {
  zero::laws::extreme_gradients_law<platform>(zoo, 1e30F);
}

}  // namespace
