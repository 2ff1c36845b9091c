// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/config.hpp>
#include <zero/version.hpp>

#include <cstdint>

namespace zero::inline ZERO_ABI {

/// Where the part of rank `from` lies among those of all ranks but `rank`, one behind the other in
/// rank order: how `all_to_others` delivers, and how the sum over the ranks reads.
/// @pre `from != rank`; both from 0
[[nodiscard]] ZERO_HOST_DEVICE constexpr int place_among_others(int from, int rank) noexcept {
  return from < rank ? from : from - 1;
}

namespace detail {

/// Calls `f(other)` for each rank but `rank`, in an order that begins with the next one, so that
/// not all turn to the same rank at once.
template <class F>
constexpr void for_each_other_rank(int rank, int ranks, F&& f) {
  for (int i = 1; i < ranks; ++i) {
    f((rank + i) % ranks);
  }
}

/// The ranks' parts of what is summed: the own one where it lies, the others' as they arrived.
template <class T>
struct rank_parts {
  T const* own;
  T const* received;
  std::int64_t stride;  ///< elements between the others' parts
  int rank;             ///< whose part `own` is
  int ranks;            ///< all of them

  /// Rank k's part.
  [[nodiscard]] ZERO_HOST_DEVICE constexpr T const* of(int k) const noexcept {
    return k == rank ? own : received + place_among_others(k, rank) * stride;
  }
};

}  // namespace detail

}  // namespace zero::inline ZERO_ABI
