// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/plan/groups.hpp>

#include <cuda_runtime.h>

#include <cstdint>

namespace zero::detail {

/// The first of sorted segments that ends behind `position`, found by the 32 threads of a warp
/// together: each round looks at 32 places at once and narrows the rest to a 32nd, so that 10 000
/// segments take three reads one after the other, not fourteen.
///
/// Called by all threads of the warp with the same arguments.
/// @return its index; `count` if there is none
[[nodiscard]] __device__ inline std::int32_t first_segment_behind(update_segment const* segments,
                                                                  std::int32_t count,
                                                                  std::int64_t position) {
  constexpr std::int32_t warp = 32;
  auto const lane = static_cast<std::int32_t>(threadIdx.x % warp);
  std::int32_t low = 0;       // the answer is not below
  std::int32_t high = count;  // nor above
  while (low < high) {
    std::int32_t const step = (high - low + warp - 1) / warp;
    std::int64_t const end = low + static_cast<std::int64_t>(lane + 1) * step;
    std::int32_t const probe = static_cast<std::int32_t>(end < high ? end : high) - 1;
    unsigned const behind = __ballot_sync(0xffff'ffffU, segments[probe].end > position);
    if (behind == 0) {
      return high;
    }
    std::int32_t const found = __ffs(static_cast<int>(behind)) - 1;
    high = __shfl_sync(0xffff'ffffU, probe, found);
    low += found * step;
  }
  return low;
}

}  // namespace zero::detail
