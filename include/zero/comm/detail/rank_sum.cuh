// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/arithmetic.hpp>
#include <zero/core/dtype.hpp>
#include <zero/device/gpu/launch.cuh>
#include <zero/device/gpu/vectors.cuh>
#include <zero/version.hpp>

#include <cuda_runtime.h>

#include <cstdint>

namespace zero::inline ZERO_ABI::detail {

/// Most ranks of a local world on GPUs: their addresses are a kernel's argument of 2 KiB.
inline constexpr int most_local_gpu_ranks = 256;

/// Where each rank's contribution lies.
struct rank_addresses {
  void const* at[most_local_gpu_ranks];
};

inline constexpr int rank_sum_threads = 256;
inline constexpr int rank_sum_elements = 8;  // of a thread

/// One thread's elements: `to[i]` = the ranks' elements i, added in rank order, each partial sum
/// rounded to the wire type; the same as `reduce_in_rank_order` on the host. `to` may be one of the
/// contributions: a thread reads its elements of all ranks before it writes.
template <gpu::access_by By, element W>
__device__ void rank_sum(rank_addresses const& parts,
                         int ranks,
                         std::int64_t first,
                         std::int64_t count,
                         bool scaled,
                         float scale,
                         W* to) {
  float sum[rank_sum_elements];
  for (int rank = 0; rank < ranks; ++rank) {
    float part[rank_sum_elements];
    gpu::load<By>(static_cast<W const*>(parts.at[rank]) + first, count, part);
#pragma unroll
    for (int i = 0; i < rank_sum_elements; ++i) {
      float const term = scaled ? to_float(from_float<W>(mul(part[i], scale))) : part[i];
      sum[i] = rank == 0 ? term : to_float(from_float<W>(add(sum[i], term)));
    }
  }
  gpu::store<By>(to + first, count, sum);
}

template <element W>
__global__ void __launch_bounds__(rank_sum_threads) rank_sum_kernel(rank_addresses parts,
                                                                    int ranks,
                                                                    std::int64_t n,
                                                                    bool scaled,
                                                                    float scale,
                                                                    W* to,
                                                                    bool aligned) {
  std::int64_t const first =
      (std::int64_t{blockIdx.x} * rank_sum_threads + threadIdx.x) * rank_sum_elements;
  std::int64_t const count = n - first;
  if (aligned && count >= rank_sum_elements) {
    rank_sum<gpu::access_by::vector>(parts, ranks, first, count, scaled, scale, to);
  } else if (count > 0) {
    rank_sum<gpu::access_by::element>(parts, ranks, first, count, scaled, scale, to);
  }
}

/// Puts the sum of `n` elements of type W into a stream of the current device, which can read all
/// ranks' memory. @throws cuda_error
template <element W>
void launch_rank_sum(cudaStream_t stream,
                     rank_addresses const& parts,
                     int ranks,
                     std::int64_t n,
                     double prescale,
                     void* to) {
  bool aligned = gpu::aligned_for_vectors(static_cast<W const*>(to));
  for (int rank = 0; rank < ranks; ++rank) {
    aligned = aligned && gpu::aligned_for_vectors(static_cast<W const*>(parts.at[rank]));
  }
  constexpr std::int64_t block = rank_sum_threads * rank_sum_elements;
  gpu::launch("rank_sum_kernel",
              rank_sum_kernel<W>,
              (n + block - 1) / block,
              rank_sum_threads,
              stream,
              parts,
              ranks,
              n,
              prescale != 1,
              narrow(prescale),
              static_cast<W*>(to),
              aligned);
}

}  // namespace zero::inline ZERO_ABI::detail
