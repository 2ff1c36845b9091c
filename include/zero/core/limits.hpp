// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/version.hpp>

#include <cstdint>

namespace zero::inline ZERO_ABI {

/// The most groups of parameters of one model that differ in learning-rate scale or weight decay.
/// A plan refuses more; the step keeps the scalars of so many.
inline constexpr int max_groups = 16;

/// The most state arrays an optimizer may keep besides the master weights.
inline constexpr int max_moments = 2;

/// The most elements that a plan takes, padding included: with them every count of bytes, of slots
/// and of all pools together, stays below 2^63. (2^48 elements are 16 petabytes of AdamW's state
/// and more.)
inline constexpr std::int64_t max_elements = std::int64_t{1} << 48;

}  // namespace zero::inline ZERO_ABI
