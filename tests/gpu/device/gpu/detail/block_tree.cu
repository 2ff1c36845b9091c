// SPDX-License-Identifier: Apache-2.0
#include <zero/device/gpu/detail/block_tree.cuh>

#include "tests/gpu/device/gpu/array.hpp"
#include "tests/support/wild.hpp"

#include <zero/core/norm.hpp>
#include <zero/device/gpu/launch.cuh>

#include <doctest/doctest.h>

#include <cuda_runtime.h>

#include <cstddef>
#include <vector>

namespace zero::test {

namespace {

template <int Blocks>
__global__ void sum_blocks(double const* lanes, double* sums) {
  double mine[Blocks];
  for (int b = 0; b < Blocks; ++b) {
    mine[b] = lanes[b * norm_lanes + threadIdx.x];
  }
  double const sum = detail::block_sums(mine);
  if (threadIdx.x % 32 == 0 && threadIdx.x / 32 < Blocks) {
    sums[threadIdx.x / 32] = sum;
  }
}

template <int Blocks>
__global__ void sum_one_block(double const* lanes, double* sums) {
  detail::store_block_sum(lanes[threadIdx.x], sums);
}

[[nodiscard]] std::vector<double> wild_doubles(int n) {
  wild_numbers numbers(81);
  std::vector<double> values;
  for (int i = 0; i < n; ++i) {
    values.push_back(static_cast<double>(numbers.next()) * 1.000'000'1);
  }
  return values;
}

template <int Blocks>
void check_sums() {
  auto const lanes = wild_doubles(Blocks * norm_lanes);
  gpu_array<double> const gpu_lanes(lanes);
  gpu_array<double> const sums(Blocks);
  gpu::launch(
      "sum_blocks", sum_blocks<Blocks>, 1, norm_lanes, nullptr, gpu_lanes.data(), sums.data());
  std::vector<double> expected;
  for (int b = 0; b < Blocks; ++b) {
    double block[norm_lanes];
    for (int t = 0; t < norm_lanes; ++t) {
      block[t] = lanes[static_cast<std::size_t>(b * norm_lanes + t)];
    }
    expected.push_back(sum_lanes(block));
  }
  CHECK(differences(sums.values(), expected) == 0);
}

}  // namespace

TEST_CASE("the threads of a block add as the stated tree does, for 1 to 8 blocks at a time") {
  check_sums<1>();
  check_sums<3>();
  check_sums<4>();
  check_sums<8>();
}

TEST_CASE("one block's sum goes where it is wanted") {
  auto const lanes = wild_doubles(norm_lanes);
  gpu_array<double> const gpu_lanes(lanes);
  gpu_array<double> const sums(1);
  gpu::launch(
      "sum_one_block", sum_one_block<1>, 1, norm_lanes, nullptr, gpu_lanes.data(), sums.data());
  double block[norm_lanes];
  for (int t = 0; t < norm_lanes; ++t) {
    block[t] = lanes[static_cast<std::size_t>(t)];
  }
  CHECK(same(sums.values()[0], sum_lanes(block)));
}

}  // namespace zero::test
