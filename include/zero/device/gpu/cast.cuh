// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/device/gpu/launch.cuh>
#include <zero/device/gpu/vectors.cuh>
#include <zero/version.hpp>

#include <cuda_runtime.h>

#include <cstdint>

namespace zero::inline ZERO_ABI::detail {

/// Elements and threads of a thread block of `convert_kernel`.
inline constexpr int convert_elements = 8;
inline constexpr int convert_threads = 256;

/// `gpu_kernels::cast` and `widen`: From to float and from float to To, one of which is float.
template <element From, element To>
__global__ void __launch_bounds__(convert_threads)
    convert_kernel(From const* from, To* to, std::int64_t n, bool aligned) {
  gpu::wait_for_previous_kernel();
  std::int64_t const first =
      (static_cast<std::int64_t>(blockIdx.x) * convert_threads + threadIdx.x) * convert_elements;
  std::int64_t const count = n - first;
  float x[convert_elements];
  if (aligned && count >= convert_elements) {
    gpu::load<gpu::access_by::vector>(from + first, count, x);
    gpu::store<gpu::access_by::vector>(to + first, count, x);
  } else if (count > 0) {
    gpu::load<gpu::access_by::element>(from + first, count, x);
    gpu::store<gpu::access_by::element>(to + first, count, x);
  }
}

}  // namespace zero::inline ZERO_ABI::detail
