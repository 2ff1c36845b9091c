// SPDX-License-Identifier: Apache-2.0
#include "tests/support/captured_steps.cuh"
#include "tests/support/gpu_platform.cuh"

#include <doctest/doctest.h>

#include <cstdlib>

// Captured steps with one process a rank, over NCCL and by copies between the ranks of the host.
// Start it by tests/gpu/run_processes N.

namespace {

using namespace zero::test::captured;

template <class Platform>
void check_captured() {
  if (std::getenv("RANK") == nullptr) {
    MESSAGE("skipped: start it by tests/gpu/run_processes N");
    return;
  }
  int const ranks = Platform::world().size();
  auto const issued = run<Platform>(mode::issued, ranks, 8, 9);
  if (Platform::world().rank() == 0) {
    CHECK_FALSE(issued.results[4].applied);
    CHECK(issued.results[5].applied);
  }
  check_equal(issued, run<Platform>(mode::whole_step, ranks, 8, 9));
  check_equal(issued, run<Platform>(mode::step_alone, ranks, 8, 9));
}

TEST_CASE("NCCL: captured steps give the bits of issued ones") {
  check_captured<zero::test::nccl_platform<>>();
}

TEST_CASE("copies between ranks: captured steps give the bits of issued ones") {
  check_captured<zero::test::nccl_platform<zero::nccl_registration::peers>>();
}

}  // namespace
