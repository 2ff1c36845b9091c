// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/arithmetic.hpp>
#include <zero/core/config.hpp>
#include <zero/core/error.hpp>
#include <zero/optim/concepts.hpp>
#include <zero/policy/optimizer.hpp>
#include <zero/version.hpp>

#include <cstdint>

namespace zero::inline ZERO_ABI {

/// Lion: Chen et al., "Symbolic Discovery of Optimization Algorithms", 2023, algorithm 2. Each
/// element moves by the learning rate in the direction of a sign, so rates are some ten times
/// smaller than AdamW's. One moment: 8 bytes of state an element with the FP32 master.
///
///     w = w (1 - lr weight_decay) - lr sign(beta1 m + (1 - beta1) g)     with sign(0) = 0
///     m = beta2 m + (1 - beta2) g
struct Lion {
  using policy_category = optimizer_category;

  /// Numbers kept for each element: the mean of gradients.
  static constexpr int moments = 1;

  /// Hyper-parameters.
  struct options {
    double lr = 1e-4;         ///< learning rate, where `step` is given none
    double beta1 = 0.9;       ///< the weight of the moment in the direction, in [0, 1)
    double beta2 = 0.99;      ///< decay of the moment, in [0, 1)
    double weight_decay = 0;  ///< times the learning rate: the share of w that a step takes away;
                              ///< 0 or more
  };

  /// @throws logic_error for options outside the ranges that their comments name
  static void check(options const& o) {
    precondition(0 <= o.beta1 && o.beta1 < 1 && 0 <= o.beta2 && o.beta2 < 1,
                 "zero::Lion: beta1 and beta2 must be 0 or more and less than 1");
    precondition(0 <= o.weight_decay && is_finite(o.weight_decay),
                 "zero::Lion: weight_decay must be 0 or more, and finite");
  }

  /// What one step needs, formed in FP64 and rounded once.
  struct scalars {
    float beta1 = 0;            ///< beta1
    float one_minus_beta1 = 0;  ///< 1 - beta1
    float beta2 = 0;            ///< beta2
    float one_minus_beta2 = 0;  ///< 1 - beta2
    float keep = 0;             ///< 1 - lr weight_decay
    float lr = 0;               ///< the learning rate
  };

  /// @param o                    hyper-parameters
  /// @param lr                   the learning rate of this step and group
  /// @param weight_decay_factor  1, or 0 for parameters without weight decay
  /// @return the step's scalars; the step's number does not matter
  [[nodiscard]] ZERO_HOST_DEVICE ZERO_EXACT static scalars prepare(options const& o,
                                                                   double lr,
                                                                   double weight_decay_factor,
                                                                   std::int64_t /*t*/) noexcept {
    scalars s;
    s.beta1 = narrow(o.beta1);
    s.one_minus_beta1 = narrow(sub(1.0, o.beta1));
    s.beta2 = narrow(o.beta2);
    s.one_minus_beta2 = narrow(sub(1.0, o.beta2));
    s.keep = narrow(sub(1.0, mul(lr, mul(o.weight_decay, weight_decay_factor))));
    s.lr = narrow(lr);
    return s;
  }

  /// Updates one element.
  /// @param w  the element
  /// @param g  its gradient
  /// @param m  its moment
  /// @param s  the step's scalars
  ZERO_HOST_DEVICE ZERO_EXACT static void update(float& w,
                                                 float g,
                                                 float (&m)[1],
                                                 scalars const& s) noexcept {
    float const direction = add(mul(s.beta1, m[0]), mul(s.one_minus_beta1, g));
    m[0] = add(mul(s.beta2, m[0]), mul(s.one_minus_beta2, g));
    w = sub(mul(w, s.keep), mul(s.lr, sign(direction)));
  }
};

static_assert(optimizer<Lion>);

}  // namespace zero::inline ZERO_ABI
