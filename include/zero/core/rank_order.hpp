// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/config.hpp>

namespace zero {

/// Where the part of rank `from` lies among those of all ranks but `rank`, one behind the other in
/// rank order: how `all_to_others` delivers, and how the sum over the ranks reads.
/// @pre `from != rank`; both from 0
[[nodiscard]] ZERO_HOST_DEVICE constexpr int place_among_others(int from, int rank) noexcept {
  return from < rank ? from : from - 1;
}

}  // namespace zero
