// SPDX-License-Identifier: Apache-2.0
#include <zero/device/gpu/launch.cuh>

#include "tests/gpu/device/gpu/array.hpp"
#include "tests/support/capture.hpp"

#include <zero/core/error.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/device/gpu/graph.hpp>
#include <zero/device/gpu/stream.hpp>

#include <doctest/doctest.h>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace zero::test {

namespace {

template <class T>
__global__ void number_blocks(T* numbers, T factor) {
  if (threadIdx.x == 0) {
    numbers[blockIdx.x] = static_cast<T>(blockIdx.x) * factor;
  }
}

/// Adds one to each number, if the kernel ahead has done its part.
template <class T>
__global__ void count_up(T* numbers, T expected) {
  zero::gpu::wait_for_previous_kernel();
  T& number = numbers[blockIdx.x * blockDim.x + threadIdx.x];
  if (number == expected) {
    number = expected + 1;
  }
}

}  // namespace

TEST_CASE("a launch covers its blocks and converts its arguments") {
  gpu_array<std::int64_t> const numbers(5);
  gpu::preload("number_blocks", number_blocks<std::int64_t>);
  gpu::launch("number_blocks", number_blocks<std::int64_t>, 5, 32, nullptr, numbers.data(), 3);
  CHECK(numbers.values() == std::vector<std::int64_t>{0, 3, 6, 9, 12});
}

TEST_CASE("kernels that are launched early keep their order, in a stream and in a graph") {
  constexpr int blocks = 300;
  constexpr int threads = 256;
  gpu_array<int> const numbers(std::int64_t{blocks} * threads);
  gpu::stream const s(gpu::stream_priority::normal);
  auto const chain = [&](int first) {
    for (int i = first; i < first + 200; ++i) {
      gpu::launch_early("count_up", count_up<int>, blocks, threads, s.get(), numbers.data(), i);
    }
  };
  chain(0);
  gpu::graph const work = capture(s.get(), [&] { chain(200); });
  work.launch(s.get());
  CHECK(numbers.values() == std::vector<int>(static_cast<std::size_t>(blocks * threads), 400));
}

#ifdef __CUDA_ARCH_LIST__
TEST_CASE("kernels are launched early where the GPU runs code that waits for the one ahead") {
  bool any = false;
  for (int const architecture : {__CUDA_ARCH_LIST__}) {
    any = any || architecture >= 900;
    CHECK(gpu::runs_code_of_sm_90(architecture / 10) == (architecture >= 900));
  }
  CHECK_FALSE(gpu::runs_code_of_sm_90(86));
  CHECK(gpu::runs_code_of_sm_90(1000) == any);
}
#endif

TEST_CASE("no blocks are no launch, and too many are an error") {
  gpu_array<std::int64_t> const numbers(1);
  auto const launch = [&](std::int64_t blocks) {
    gpu::launch(
        "number_blocks", number_blocks<std::int64_t>, blocks, 32, nullptr, numbers.data(), 1);
  };
  CHECK_NOTHROW(launch(0));
  CHECK_THROWS_AS(launch(std::int64_t{1} << 31), logic_error);
}

}  // namespace zero::test
