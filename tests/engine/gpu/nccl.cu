// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/nccl/nccl.hpp>

#include "tests/laws/engine_bits.hpp"
#include "tests/support/gpu_platform.cuh"
#include "tests/support/host_platform.hpp"
#include "tests/support/text.hpp"
#include "tests/support/zoo.hpp"

#include <zero/comm/nccl/memory.hpp>
#include <zero/core/dtype.hpp>
#include <zero/core/error.hpp>
#include <zero/cuda.cuh>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

// The laws with one process a rank over NCCL; every process also trains all ranks as threads of its
// own on the host and compares. Start it by tests/gpu/run_processes N; alone it is a world of one.

namespace {

using host = zero::test::host_platform;
using model = zero::test::zoo::model<zero::bf16>;

model const zoo = zero::test::zoo::make<zero::bf16>();

template <class Platform>
void check_all_stages() {
  if (std::getenv("RANK") == nullptr) {
    MESSAGE("skipped: start it by tests/gpu/run_processes N");
    return;
  }
  int const ranks = Platform::world().size();
  for (std::int64_t const micro_steps : {1, 2}) {
    for (int stage = 0; stage < 4; ++stage) {
      CAPTURE(micro_steps);
      CAPTURE(stage);
      auto job = zero::laws::clipped_job(ranks, micro_steps);
      job.stage = stage;
      job.evaluate = false;  // what a rank observes is its own otherwise
      job.poison = true;
      auto const here = zero::laws::train_stage<Platform>(job, zoo);
      zero::laws::check_clipped(here);
      auto const there = zero::laws::train_stage<host>(job, zoo);
      CHECK(here.parameters == there.parameters);
      CHECK(here.replicas == there.replicas);
      CHECK(here.steps.back().norm == there.steps.back().norm);
    }
  }
}

TEST_CASE("NCCL gives the bits of local ranks on the host in every stage") {
  check_all_stages<zero::test::nccl_platform<>>();
}

TEST_CASE("so do sums that read the memory of the host's other ranks") {
  check_all_stages<zero::test::nccl_platform<zero::nccl_registration::peers>>();
}

TEST_CASE("pools that the ranks of a host cannot share are refused") {
  using platform = zero::test::nccl_platform<zero::nccl_registration::peers>;
  bool const can = zero::detail::nccl_features::of_library().memory;
  if (std::getenv("RANK") == nullptr || platform::world().size() == 1 || !can) {
    MESSAGE("skipped: start it by tests/gpu/run_processes N, of 2 or more");
    return;
  }
  using Engine = zero::ZeroEngine<model, zero::Stage<2>, zero::Nccl, zero::Cuda>;
  platform::run(platform::world().size(), [](auto communicator) {
    std::string refusal;
    try {
      Engine const engine(zoo,
                          std::move(communicator),
                          {},
                          zero::cuda_options{.allocator = zero::nccl_allocator()});
    } catch (zero::logic_error const& error) {
      refusal = error.what();
    }
    CHECK(zero::test::contains(refusal, "memory of one cudaMalloc"));
  });
}

TEST_CASE("so do copies between the ranks of a host") {
  check_all_stages<zero::test::nccl_platform<zero::nccl_registration::peers, 0>>();
}

}  // namespace
