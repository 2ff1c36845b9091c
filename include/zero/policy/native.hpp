// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/version.hpp>

namespace zero::inline ZERO_ABI {

/// Argument of `Accumulate` and `Reduction`: keep the type that the parameters have, instead of
/// FP32.
struct Native {};

}  // namespace zero::inline ZERO_ABI
