// SPDX-License-Identifier: Apache-2.0
#include "tests/support/captured_steps.cuh"
#include "tests/support/gpu_platform.cuh"

#include <doctest/doctest.h>

namespace {

using namespace zero::test::captured;
using platform = zero::test::local_gpu_platform;

TEST_CASE(
    "a captured step, its micro-steps inside, gives the bits of an issued one, skips included") {
  auto const issued = run<platform>(mode::issued, 1, 8, 9);  // the overflow is in the fifth step
  CHECK_FALSE(issued.results[4].applied);
  CHECK(issued.results[5].applied);
  CHECK(issued.hashes[0] != issued.hashes[7]);
  check_equal(issued, run<platform>(mode::whole_step, 1, 8, 9));
}

TEST_CASE("two captured steps, replayed in turn, each tell their own result") {
  check_equal(run<platform>(mode::issued, 1, 8, 9), run<platform>(mode::two_captures, 1, 8, 9));
}

TEST_CASE("a step captured alone takes its learning rate and its micro-steps from each replay") {
  check_equal(run<platform>(mode::issued, 1, 8, 9), run<platform>(mode::step_alone, 1, 8, 9));
}

}  // namespace
