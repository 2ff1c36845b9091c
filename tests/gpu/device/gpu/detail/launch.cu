// SPDX-License-Identifier: Apache-2.0
#include <zero/core/error.hpp>
#include <zero/device/gpu/detail/launch.cuh>

#include <doctest/doctest.h>

#include <cuda_runtime.h>

#include <cstdint>
#include <tests/gpu/device/gpu/array.hpp>
#include <vector>

namespace zero::test {

namespace {

template <class T>
__global__ void number_blocks(T* numbers, T factor) {
  if (threadIdx.x == 0) {
    numbers[blockIdx.x] = static_cast<T>(blockIdx.x) * factor;
  }
}

}  // namespace

TEST_CASE("a launch covers its blocks and converts its arguments") {
  gpu_array<std::int64_t> const numbers(5);
  detail::preload("number_blocks", number_blocks<std::int64_t>);
  detail::launch("number_blocks", number_blocks<std::int64_t>, 5, 32, nullptr, numbers.data(), 3);
  CHECK(numbers.values() == std::vector<std::int64_t>{0, 3, 6, 9, 12});
}

TEST_CASE("no blocks are no launch, and too many are an error") {
  gpu_array<std::int64_t> const numbers(1);
  auto const launch = [&](std::int64_t blocks) {
    detail::launch(
        "number_blocks", number_blocks<std::int64_t>, blocks, 32, nullptr, numbers.data(), 1);
  };
  CHECK_NOTHROW(launch(0));
  CHECK_THROWS_AS(launch(std::int64_t{1} << 31), logic_error);
}

}  // namespace zero::test
