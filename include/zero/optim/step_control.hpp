// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/version.hpp>

namespace zero::inline ZERO_ABI {

/// What the host says about one step: the numbers that may change from step to step, in memory that
/// the step's decision reads when it runs, so that a captured step can be replayed with others.
/// Trivially copyable.
struct step_control {
  double lr = 0;              ///< the learning rate; each group multiplies it by its own scale
  double gradient_scale = 1;  ///< multiplies the gradient, e.g. 1 / tokens
  double const* device_gradient_scale = nullptr;  ///< if not null, multiplies it as well; read on
                                                  ///< the device when the step runs
  double mean = 1;       ///< multiplies the gradient: 1 / (ranks x micro-steps), or 1 for the sum
  double clip_norm = 0;  ///< the norm above which the gradient is scaled down; 0: never
};

}  // namespace zero::inline ZERO_ABI
