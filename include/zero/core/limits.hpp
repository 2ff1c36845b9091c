// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/version.hpp>

namespace zero::inline ZERO_ABI {

/// The most groups of parameters of one model that differ in learning-rate scale or weight decay.
/// A plan refuses more; the step keeps the scalars of so many.
inline constexpr int max_groups = 16;

}  // namespace zero::inline ZERO_ABI
