// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/arithmetic.hpp>
#include <zero/core/dtype.hpp>
#include <zero/core/norm.hpp>
#include <zero/core/rank_order.hpp>
#include <zero/device/gpu/detail/block_tree.cuh>
#include <zero/device/gpu/launch.cuh>
#include <zero/device/gpu/vectors.cuh>
#include <zero/version.hpp>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace zero::inline ZERO_ABI::detail {

/// One thread's eight elements of each of `Blocks` norm blocks that follow each other, read side by
/// side, so that reads of all are under way at once. The accumulator may be the own part: it is
/// written after all parts were read.
/// @param first the thread's first element of the first block
/// @param count elements from there on, when the access is by element, of one block
/// @return in result, what the accumulator holds afterwards
template <gpu::access_by By, std::size_t Blocks, class Parts, element A>
__device__ void add_parts(Parts const& parts,
                          std::int64_t first,
                          A* accumulator,
                          std::int64_t count,
                          bool add_to,
                          float (&result)[Blocks][norm_lane_elements]) {
  static_assert(By == gpu::access_by::vector || Blocks == 1);
  constexpr int blocks = static_cast<int>(Blocks);
#pragma unroll
  for (int b = 0; b < blocks; ++b) {
    gpu::load<By>(parts.of(0) + first + b * norm_block, count, result[b]);
  }
#pragma unroll 4
  for (int k = 1; k < parts.ranks; ++k) {
    float contribution[Blocks][norm_lane_elements];
#pragma unroll
    for (int b = 0; b < blocks; ++b) {
      gpu::load<By>(parts.of(k) + first + b * norm_block, count, contribution[b]);
    }
#pragma unroll
    for (int b = 0; b < blocks; ++b) {
#pragma unroll
      for (int i = 0; i < norm_lane_elements; ++i) {
        result[b][i] = add(result[b][i], contribution[b][i]);
      }
    }
  }
#pragma unroll
  for (int b = 0; b < blocks; ++b) {
    A* const to = accumulator + first + b * norm_block;
    if (add_to) {
      float old[norm_lane_elements];
      gpu::load<By>(to, count, old);
#pragma unroll
      for (int i = 0; i < norm_lane_elements; ++i) {
        result[b][i] = add(old[i], result[b][i]);
      }
    }
    gpu::store<By>(to, count, result[b]);
  }
}

/// One norm block of a sum, by one thread block: the ranks' parts in rank order, and the squares of
/// the result while it is in registers.
/// @tparam Parts `ranks`, and `of(k)`: the part of rank k
template <class Parts, element A>
__device__ void sum_block(Parts const& parts,
                          std::int64_t block,
                          A* accumulator,
                          std::int64_t n,
                          bool add_to,
                          double* partials,
                          bool aligned) {
  std::int64_t const first = block * norm_block + threadIdx.x * norm_lane_elements;
  std::int64_t const count = n - first;
  float result[1][norm_lane_elements] = {};
  if (aligned && count >= norm_lane_elements) {
    add_parts<gpu::access_by::vector>(parts, first, accumulator, count, add_to, result);
  } else if (count > 0) {
    add_parts<gpu::access_by::element>(parts, first, accumulator, count, add_to, result);
  }
  if (partials != nullptr) {
    store_block_sum(lane_squares(result[0]), partials + block);
  }
}

/// `gpu_kernels::sum`: a thread block a norm block.
template <element W, element A>
__global__ void __launch_bounds__(norm_lanes) sum_kernel(rank_parts<W> parts,
                                                         A* accumulator,
                                                         std::int64_t n,
                                                         bool add_to,
                                                         double* partials,
                                                         bool aligned) {
  gpu::wait_for_previous_kernel();
  sum_block(parts, blockIdx.x, accumulator, n, add_to, partials, aligned);
}

}  // namespace zero::inline ZERO_ABI::detail
