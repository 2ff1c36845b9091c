// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/core/norm.hpp>
#include <zero/device/gpu/detail/block_tree.cuh>
#include <zero/device/gpu/launch.cuh>
#include <zero/device/gpu/vectors.cuh>
#include <zero/version.hpp>

#include <cuda_runtime.h>

#include <cstdint>

namespace zero::inline ZERO_ABI::detail {

/// Norm blocks of one thread block of `squares_kernel`: enough loads in flight to keep the memory
/// busy while other thread blocks add up their lanes.
inline constexpr int squares_blocks = 4;

/// `gpu_kernels::squares`: the squares of what is in memory already.
template <element A>
__global__ void __launch_bounds__(norm_lanes)
    squares_kernel(A const* values, std::int64_t n, double* partials, bool aligned) {
  gpu::wait_for_previous_kernel();
  std::int64_t const first_block = static_cast<std::int64_t>(blockIdx.x) * squares_blocks;
  std::int64_t const first = first_block * norm_block + threadIdx.x * norm_lane_elements;
  double lanes[squares_blocks];
  if (aligned && (first_block + squares_blocks) * norm_block <= n) {
    float x[squares_blocks][norm_lane_elements];
#pragma unroll
    for (int b = 0; b < squares_blocks; ++b) {
      gpu::load<gpu::access_by::vector>(values + first + b * norm_block, norm_lane_elements, x[b]);
    }
#pragma unroll
    for (int b = 0; b < squares_blocks; ++b) {
      lanes[b] = lane_squares(x[b]);
    }
  } else {
#pragma unroll
    for (int b = 0; b < squares_blocks; ++b) {
      std::int64_t const at = first + b * norm_block;
      float x[norm_lane_elements];
      gpu::load<gpu::access_by::element>(values + at, n - at, x);
      lanes[b] = lane_squares(x);
    }
  }
  double const sum = block_sums(lanes);
  std::int64_t const block = first_block + threadIdx.x / 32;
  if (threadIdx.x % 32 == 0 && threadIdx.x / 32 < squares_blocks && block < norm_blocks(n)) {
    partials[block] = sum;
  }
}

/// One level of `gpu_kernels::reduce_partials`: thread block i sums the i-th `norm_block` numbers.
/// A template, because a kernel cannot be inline.
template <int Lanes>
__global__ void __launch_bounds__(Lanes)
    sum_blocks_kernel(double const* values, std::int64_t n, double* sums) {
  gpu::wait_for_previous_kernel();
  std::int64_t const first = blockIdx.x * norm_block + threadIdx.x * norm_lane_elements;
  double x[norm_lane_elements];
#pragma unroll
  for (int i = 0; i < norm_lane_elements; ++i) {
    x[i] = first + i < n ? values[first + i] : 0.0;
  }
  store_block_sum(lane_sum(x), sums + blockIdx.x);
}

}  // namespace zero::inline ZERO_ABI::detail
