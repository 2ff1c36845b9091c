// SPDX-License-Identifier: Apache-2.0
#include "tests/laws/engine_bits.hpp"
#include "tests/support/gpu_platform.cuh"
#include "tests/support/host_platform.hpp"
#include "tests/support/zoo.hpp"

#include <zero/core/dtype.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

// The laws with local ranks on several GPUs that read each other's memory: outcomes are those of
// one GPU and of the host. Run by bench/scaling/laws.

namespace {

[[nodiscard]] std::vector<int> all_devices() {
  int count = 0;
  zero::check_cuda(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  std::vector<int> devices(static_cast<std::size_t>(count));
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

/// Ranks as threads, dealt out over all GPUs of this process in turn.
struct spread_platform : zero::test::gpu_memory_access {
  using communicator = zero::Local;

  template <class Body>
  static void run(int ranks, Body&& body) {
    zero::local_gpu_options options;
    options.devices = all_devices();
    zero::local_gpu_world::run(ranks, std::forward<Body>(body), options);
  }
};

using one_gpu = zero::test::local_gpu_platform;
using host = zero::test::host_platform;
using model = zero::test::zoo::model<zero::bf16>;

model const zoo = zero::test::zoo::make<zero::bf16>();

TEST_CASE("ranks on several GPUs give the bits of one GPU and of the host in every stage") {
  int const devices = static_cast<int>(all_devices().size());
  if (devices < 2) {
    MESSAGE("skipped: this machine has one GPU");
    return;
  }
  for (int const ranks : {devices, 2 * devices}) {
    for (std::int64_t const micro_steps : {1, 2}) {
      for (int stage = 0; stage < 4; ++stage) {
        CAPTURE(ranks);
        CAPTURE(micro_steps);
        CAPTURE(stage);
        auto job = zero::laws::clipped_job(ranks, micro_steps);
        job.stage = stage;
        auto const here = zero::laws::train_stage<spread_platform>(job, zoo);
        zero::laws::check_clipped(here);
        CHECK(here == zero::laws::train_stage<one_gpu>(job, zoo));
        CHECK(here == zero::laws::train_stage<host>(job, zoo));
      }
    }
  }
}

TEST_CASE("several GPUs: settings of the schedule, spinning kernels and poison change no bit") {
  int const devices = static_cast<int>(all_devices().size());
  if (devices < 2) {
    MESSAGE("skipped: this machine has one GPU");
    return;
  }
  for (int stage = 0; stage < 4; ++stage) {
    zero::laws::settings_change_nothing<spread_platform>(zoo, devices, stage, 2);
  }
}

}  // namespace
