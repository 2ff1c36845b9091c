// SPDX-License-Identifier: Apache-2.0
#include <zero/device/gpu/vectors.cuh>

#include "tests/gpu/device/gpu/array.hpp"
#include "tests/support/wild.hpp"

#include <zero/device/gpu/launch.cuh>

#include <doctest/doctest.h>

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

namespace zero::test {

namespace {

/// One thread copies N elements, or the first `count` of them.
template <gpu::access_by By, class T, int N>
__global__ void copy_elements(T const* from, T* to, float* seen, std::int64_t count) {
  float x[N];
  gpu::load<By>(from, count, x);
  gpu::store<By>(to, count, x);
  for (int i = 0; i < N; ++i) {
    seen[i] = x[i];
  }
}

template <gpu::access_by By, class T, int N>
void check_copy(std::int64_t count, std::int64_t shift) {
  auto const values = any_bits<T>(N, 71);
  gpu_array<T> const from(values, shift);
  gpu_array<T> const to(std::vector<T>(N, poison<T>), shift);
  gpu_array<float> const seen(N);
  gpu::launch("copy_elements",
              copy_elements<By, T, N>,
              1,
              1,
              nullptr,
              from.data(),
              to.data(),
              seen.data(),
              count);
  std::vector<T> expected(N, poison<T>);
  std::vector<float> expected_seen(N, 0.0F);
  for (std::int64_t i = 0; i < count; ++i) {
    auto const k = static_cast<std::size_t>(i);
    expected[k] = values[k];
    expected_seen[k] = to_float(values[k]);
  }
  CHECK(differences(to.values(), expected) == 0);
  CHECK(differences(seen.values(), expected_seen) == 0);
}

}  // namespace

TEST_CASE("addresses at multiples of 16 bytes, and only these, are read as vectors") {
  alignas(16) float numbers[8] = {};
  CHECK(gpu::aligned_for_vectors(numbers, numbers + 4));
  CHECK_FALSE(gpu::aligned_for_vectors(numbers, numbers + 1));
  CHECK(gpu::aligned_for_vectors(static_cast<float const*>(nullptr)));
}

TEST_CASE_TEMPLATE("vectors of 4 and 8 keep all bits", T, bf16, fp16, float) {
  check_copy<gpu::access_by::vector, T, 4>(4, 0);
  check_copy<gpu::access_by::vector, T, 8>(8, 0);
}

TEST_CASE_TEMPLATE("one at a time, only those that exist are touched", T, bf16, fp16, float) {
  for (std::int64_t count = 0; count <= 8; ++count) {
    check_copy<gpu::access_by::element, T, 8>(count, 1);
  }
  check_copy<gpu::access_by::element, T, 1>(1, 1);
}

}  // namespace zero::test
