// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/arithmetic.hpp>
#include <zero/core/dtype.hpp>
#include <zero/core/norm.hpp>
#include <zero/device/gpu/detail/block_tree.cuh>
#include <zero/device/gpu/launch.cuh>
#include <zero/device/gpu/vectors.cuh>
#include <zero/version.hpp>

#include <cuda_runtime.h>

#include <cstdint>

namespace zero::inline ZERO_ABI::detail {

/// One thread's eight elements of `accumulate_kernel`.
/// @return in result, what the accumulator holds afterwards
template <gpu::access_by By, element P, element A>
__device__ void accumulate_lane(P const* gradient,
                                A* accumulator,
                                std::int64_t count,
                                bool add_to,
                                float scale,
                                float (&result)[norm_lane_elements]) {
  gpu::load<By>(gradient, count, result);
#pragma unroll
  for (float& value : result) {
    value = mul(value, scale);
  }
  if (add_to) {
    float old[norm_lane_elements];
    gpu::load<By>(accumulator, count, old);
#pragma unroll
    for (int i = 0; i < norm_lane_elements; ++i) {
      result[i] = add(old[i], result[i]);
    }
  }
  gpu::store<By>(accumulator, count, result);
}

/// `gpu_kernels::accumulate`: a thread block a norm block, so that the squares of the result are
/// summed where they are in registers.
template <element P, element A>
__global__ void __launch_bounds__(norm_lanes) accumulate_kernel(P const* gradient,
                                                                A* accumulator,
                                                                std::int64_t n,
                                                                bool add_to,
                                                                float scale,
                                                                double* partials,
                                                                bool aligned) {
  gpu::wait_for_previous_kernel();
  std::int64_t const first = blockIdx.x * norm_block + threadIdx.x * norm_lane_elements;
  std::int64_t const count = n - first;
  float result[norm_lane_elements] = {};
  if (aligned && count >= norm_lane_elements) {
    accumulate_lane<gpu::access_by::vector>(
        gradient + first, accumulator + first, count, add_to, scale, result);
  } else if (count > 0) {
    accumulate_lane<gpu::access_by::element>(
        gradient + first, accumulator + first, count, add_to, scale, result);
  }
  if (partials != nullptr) {
    store_block_sum(lane_squares(result), partials + blockIdx.x);
  }
}

}  // namespace zero::inline ZERO_ABI::detail
