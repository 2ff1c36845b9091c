// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace zero {

/// Argument of `Accumulate` and `Reduction`: keep the type that the parameters have, instead of
/// FP32.
struct Native {};

}  // namespace zero
