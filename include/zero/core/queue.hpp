// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/version.hpp>

#include <cstdint>

namespace zero::inline ZERO_ABI {

/// The three queues of a device. Operations of one queue run in the order they were put there;
/// between queues only recorded and awaited events order them.
enum class queue : std::uint8_t {
  compute,  ///< the user's own work: kernels of forward and backward
  comm,     ///< collectives and the step
  reduce,   ///< the sums that follow an exchange
};

/// How many queues there are.
inline constexpr int queue_count = 3;

}  // namespace zero::inline ZERO_ABI
