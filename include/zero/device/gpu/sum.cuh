// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/arithmetic.hpp>
#include <zero/core/dtype.hpp>
#include <zero/core/norm.hpp>
#include <zero/core/rank_order.hpp>
#include <zero/device/gpu/detail/block_tree.cuh>
#include <zero/device/gpu/detail/launch.cuh>
#include <zero/device/gpu/detail/vectors.cuh>

#include <cuda_runtime.h>

#include <cstdint>

namespace zero::detail {

/// One thread's eight elements of `sum_block`. The accumulator may be the own part: it is written
/// after all parts were read.
/// @return in result, what the accumulator holds afterwards
template <access_by By, class Parts, element A>
__device__ void sum_lane(Parts const& parts,
                         std::int64_t first,
                         A* accumulator,
                         std::int64_t count,
                         bool add_to,
                         float (&result)[norm_lane_elements]) {
  load<By>(parts.of(0) + first, count, result);
#pragma unroll 4
  for (int k = 1; k < parts.ranks; ++k) {
    float contribution[norm_lane_elements];
    load<By>(parts.of(k) + first, count, contribution);
#pragma unroll
    for (int i = 0; i < norm_lane_elements; ++i) {
      result[i] = add(result[i], contribution[i]);
    }
  }
  if (add_to) {
    float old[norm_lane_elements];
    load<By>(accumulator, count, old);
#pragma unroll
    for (int i = 0; i < norm_lane_elements; ++i) {
      result[i] = add(old[i], result[i]);
    }
  }
  store<By>(accumulator, count, result);
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
  float result[norm_lane_elements] = {};
  if (aligned && count >= norm_lane_elements) {
    sum_lane<access_by::vector>(parts, first, accumulator + first, count, add_to, result);
  } else if (count > 0) {
    sum_lane<access_by::element>(parts, first, accumulator + first, count, add_to, result);
  }
  if (partials != nullptr) {
    store_block_sum(lane_squares(result), partials + block);
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
  wait_for_previous_kernel();
  sum_block(parts, blockIdx.x, accumulator, n, add_to, partials, aligned);
}

}  // namespace zero::detail
