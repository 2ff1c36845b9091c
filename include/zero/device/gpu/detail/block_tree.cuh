// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/arithmetic.hpp>
#include <zero/core/norm.hpp>
#include <zero/version.hpp>

#include <cuda_runtime.h>

#include <cstddef>

namespace zero::inline ZERO_ABI::detail {

/// Sums the lanes of `Blocks` norm blocks between the threads of a thread block, by the tree of
/// `core/norm.hpp`: the same additions as `sum_lanes`, in an order that needs one barrier. Warp b
/// does block b: its thread t adds what the strides 128, 64 and 32 bring to lane t, and the lower
/// strides go between the threads of the warp.
///
/// Called by all `norm_lanes` threads.
/// @param lanes  this thread's lane of each block
/// @return in thread 32 b: the sum of block b; elsewhere unspecified
template <std::size_t Blocks>
[[nodiscard]] __device__ double block_sums(double const (&lanes)[Blocks]) {
  constexpr int warp = 32;
  static_assert(Blocks <= static_cast<std::size_t>(norm_lanes / warp));
  __shared__ double s[Blocks][norm_lanes];
#pragma unroll
  for (std::size_t b = 0; b < Blocks; ++b) {
    s[b][threadIdx.x] = lanes[b];
  }
  __syncthreads();
  unsigned const b = threadIdx.x / warp;
  if (b >= Blocks) {
    return 0;
  }
  double const* const lane = &s[b][threadIdx.x % warp];
  double sum = add(add(add(lane[0], lane[128]), add(lane[64], lane[192])),
                   add(add(lane[32], lane[160]), add(lane[96], lane[224])));
#pragma unroll
  for (int stride = warp / 2; stride > 0; stride /= 2) {
    sum = add(sum, __shfl_down_sync(0xffff'ffffU, sum, stride));
  }
  return sum;
}

/// The same for one block, written by the thread that has it.
/// @param lane  this thread's lane
/// @param sum   where the sum goes
__device__ inline void store_block_sum(double lane, double* sum) {
  double const total = block_sums<1>({lane});
  if (threadIdx.x == 0) {
    *sum = total;
  }
}

}  // namespace zero::inline ZERO_ABI::detail
