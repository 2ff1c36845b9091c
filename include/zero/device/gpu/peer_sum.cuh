// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/core/norm.hpp>
#include <zero/device/gpu/detail/block_tree.cuh>
#include <zero/device/gpu/launch.cuh>
#include <zero/device/gpu/peer_reading.hpp>
#include <zero/device/gpu/sum.cuh>
#include <zero/version.hpp>

#include <cuda_runtime.h>

#include <cstdint>

namespace zero::inline ZERO_ABI::detail {

/// The ranks' parts where each of them lies, most of them in the memory of other GPUs.
template <class T>
struct peer_parts {
  T const* at[most_peers];
  int ranks;

  /// Rank k's part.
  [[nodiscard]] __device__ T const* of(int k) const { return at[k]; }
};

static_assert(norm_lanes >= most_peers, "a thread of a block meets a rank");

/// Raises a flag in another GPU's memory, behind everything that was written before.
__device__ inline void raise_flag(std::uint32_t* flag, std::uint32_t value) {
  __threadfence_system();
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

/// Waits until a flag of this GPU has the value, or the host lets go after a failure.
__device__ inline void await_flag(std::uint32_t const* flag,
                                  std::uint32_t value,
                                  std::uint32_t const volatile* released) {
  for (unsigned turn = 1;; ++turn) {
    std::uint32_t seen = 0;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    if (seen == value || (turn % 1024 == 0 && *released != 0)) {
      return;
    }
  }
}

/// Begins a kernel in which the ranks meet: returns when all others' kernels have begun, so that
/// what they have enqueued before can be read. All threads of each block call it. The block that
/// comes first tells the others, whichever it is.
/// @return the number of this meeting, for `leave_peers`
__device__ inline std::uint32_t meet_peers(peer_meeting_flags const& flags) {
  std::uint32_t* const mine = flags.of[flags.rank];
  __shared__ std::uint32_t number;
  __shared__ bool first;
  if (threadIdx.x == 0) {
    number = *static_cast<std::uint32_t volatile*>(mine + peer_meeting_flags::number) + 1;
    first = atomicAdd(mine + peer_meeting_flags::begun, 1U) == 0;
  }
  __syncthreads();
  auto const other = static_cast<int>(threadIdx.x);
  if (other < flags.ranks && other != flags.rank) {
    if (first) {
      raise_flag(flags.of[other] + peer_meeting_flags::ready(flags.rank), number);
    }
    await_flag(mine + peer_meeting_flags::ready(other), number, flags.released);
  }
  __syncthreads();
  return number;
}

/// Ends it: the kernel does not end before all others have read what they wanted.
__device__ inline void leave_peers(peer_meeting_flags const& flags, std::uint32_t meeting) {
  std::uint32_t* const mine = flags.of[flags.rank];
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(mine + peer_meeting_flags::ended, 1U) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) {
    return;
  }
  auto const other = static_cast<int>(threadIdx.x);
  if (other < flags.ranks && other != flags.rank) {
    raise_flag(flags.of[other] + peer_meeting_flags::done(flags.rank), meeting);
    await_flag(mine + peer_meeting_flags::done(other), meeting, flags.released);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    mine[peer_meeting_flags::begun] = 0;
    mine[peer_meeting_flags::ended] = 0;
    mine[peer_meeting_flags::number] = meeting;
  }
}

/// Norm blocks that a thread block sums side by side, so that reads of both are under way at once.
inline constexpr int peer_sum_batch = 2;

/// Most thread blocks of the kernel. 128 read 293 and 256 read 302 GB/s of another H200's memory
/// (`bench_scaling_collectives --registration peers --peer-reading 256`, 256 MiB).
inline constexpr std::int64_t peer_sum_blocks = 256;

/// Norm blocks [block, block + peer_sum_batch), all of them whole, as `sum_block` does each.
template <class Parts, element A>
__device__ void sum_batch(
    Parts const& parts, std::int64_t block, A* accumulator, bool add_to, double* partials) {
  std::int64_t const first = block * norm_block + threadIdx.x * norm_lane_elements;
  float result[peer_sum_batch][norm_lane_elements];
  add_parts<gpu::access_by::vector>(parts, first, accumulator, norm_lane_elements, add_to, result);
  if (partials != nullptr) {
    double squares[peer_sum_batch];
#pragma unroll
    for (int b = 0; b < peer_sum_batch; ++b) {
      squares[b] = lane_squares(result[b]);
    }
    double const total = block_sums<peer_sum_batch>(squares);
    if (threadIdx.x % 32 == 0 && threadIdx.x / 32 < peer_sum_batch) {
      partials[block + threadIdx.x / 32] = total;
    }
  }
}

/// `gpu_kernels::sum_of_peers`: `sum_kernel` that reads the others' parts where they lie.
template <element W, element A>
__global__ void __launch_bounds__(norm_lanes) peer_sum_kernel(peer_parts<W> parts,
                                                              peer_meeting_flags flags,
                                                              A* accumulator,
                                                              std::int64_t n,
                                                              bool add_to,
                                                              double* partials,
                                                              bool aligned) {
  gpu::wait_for_previous_kernel();
  std::uint32_t const meeting = meet_peers(flags);
  std::int64_t const blocks = norm_blocks(n);
  std::int64_t const step = static_cast<std::int64_t>(gridDim.x) * peer_sum_batch;
  for (std::int64_t begin = blockIdx.x * std::int64_t{peer_sum_batch}; begin < blocks;
       begin += step) {
    if (aligned && (begin + peer_sum_batch) * norm_block <= n) {
      sum_batch(parts, begin, accumulator, add_to, partials);
      __syncthreads();  // the shared memory of the squares is used again
    } else {
      for (std::int64_t block = begin; block < begin + peer_sum_batch && block < blocks; ++block) {
        sum_block(parts, block, accumulator, n, add_to, partials, aligned);
        __syncthreads();
      }
    }
  }
  leave_peers(flags, meeting);
}

}  // namespace zero::inline ZERO_ABI::detail
