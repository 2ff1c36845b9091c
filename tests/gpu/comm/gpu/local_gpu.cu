// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/gpu/local_gpu.cuh>

#include "tests/laws/communicator.hpp"
#include "tests/support/gpu_rank.hpp"

#include <zero/device/gpu/device_guard.hpp>
#include <zero/device/gpu/error.hpp>

#include <doctest/doctest.h>

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

using zero::collective_tag;
using zero::local_gpu_communicator;
using zero::local_gpu_world;

static_assert(std::is_same_v<zero::Local::communicator<zero::Cuda>, local_gpu_communicator>);

namespace {

std::vector<int> all_devices() {
  int count = 0;
  zero::check_cuda(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  std::vector<int> devices;
  for (int i = 0; i < count; ++i) {
    devices.push_back(i);
  }
  return devices;
}

}  // namespace

TEST_CASE("the laws of communicators hold for local ranks on all GPUs of the machine") {
  auto const devices = all_devices();
  int const ranks = static_cast<int>(devices.size()) + 1;  // two of them share a device
  local_gpu_world::run(ranks,
                       [](local_gpu_communicator comm) {
                         zero::test::gpu_rank rank(std::move(comm));
                         zero::laws::communicator_laws(rank);
                       },
                       {.devices = devices});
}

TEST_CASE("ranks run with their device current") {
  auto const devices = all_devices();
  std::atomic<int> right{0};
  local_gpu_world::run(3,
                       [&](local_gpu_communicator comm) {
                         int current = -1;
                         zero::check_cuda(cudaGetDevice(&current), "cudaGetDevice");
                         auto const dealt =
                             devices[static_cast<std::size_t>(comm.rank()) % devices.size()];
                         right += current == dealt && comm.device() == dealt ? 1 : 0;
                       },
                       {.devices = devices});
  CHECK(right == 3);
}

TEST_CASE("the first original error of the ranks is thrown") {
  CHECK_THROWS_AS(local_gpu_world::run(2,
                                       [](local_gpu_communicator comm) {
                                         if (comm.rank() == 1) {
                                           throw std::runtime_error("mine");
                                         }
                                         comm.broadcast(nullptr, {}, nullptr, 0, 0);
                                       }),
                  std::runtime_error);
}

TEST_CASE("each rank's communicator is given out once") {
  local_gpu_world const world(2);
  CHECK(world.size() == 2);
  auto const first = world.communicator(1);
  CHECK(first.rank() == 1);
  CHECK_THROWS_AS(static_cast<void>(world.communicator(1)), zero::logic_error);
  CHECK_THROWS_AS(static_cast<void>(world.communicator(2)), zero::logic_error);
}

TEST_CASE("the caller's current device stays") {
  int const last = all_devices().back();
  local_gpu_world const world(1, {.devices = {last}});
  auto comm = world.communicator(0);
  int* buffer = nullptr;
  {
    zero::gpu::device_guard const guard(last);
    zero::check_cuda(cudaMalloc(&buffer, sizeof(int)), "cudaMalloc");
  }
  zero::gpu::device_guard const guard(0);
  comm.all_gather(nullptr, {}, buffer, buffer, sizeof(int));
  int current = -1;
  zero::check_cuda(cudaGetDevice(&current), "cudaGetDevice");
  CHECK(current == 0);
  zero::check_cuda(cudaFree(buffer), "cudaFree");
}

TEST_CASE("worlds of no ranks, and of more than a kernel can name, are refused") {
  CHECK_THROWS_AS(local_gpu_world(0), zero::logic_error);
  CHECK_THROWS_AS(local_gpu_world(257), zero::logic_error);
}
