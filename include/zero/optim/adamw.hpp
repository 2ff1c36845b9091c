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

/// Adam with decoupled weight decay: Loshchilov and Hutter, "Decoupled Weight Decay
/// Regularization", 2019. Two moments: 12 bytes of state an element with the FP32 master.
///
///     m = beta1 m + (1 - beta1) g
///     v = beta2 v + (1 - beta2) g g
///     w = w (1 - lr weight_decay) - (lr / (1 - beta1^t)) m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
///
/// One step from equal states agrees with torch.optim.AdamW(foreach=False): m and v within 2^-21 of
/// the sum of magnitudes of their two terms, w within 2^-20 of |w (1 - lr weight_decay)| + step
/// size (beta1 |m| + (1 - beta1) |g|) / denominator. Cost: one square root and one division an
/// element.
struct AdamW {
  using policy_category = optimizer_category;

  /// Numbers kept for each element: m and v.
  static constexpr int moments = 2;

  /// Hyper-parameters. The defaults are those of torch.optim.AdamW.
  struct options {
    double lr = 1e-3;            ///< learning rate, where `step` is given none
    double beta1 = 0.9;          ///< decay of the mean of gradients, in [0, 1)
    double beta2 = 0.999;        ///< decay of the mean of their squares, in [0, 1)
    double eps = 1e-8;           ///< added to the root of the mean square, above 0
    double weight_decay = 1e-2;  ///< times the learning rate: the share of w that a step takes
                                 ///< away; 0 or more
  };

  /// @throws logic_error for options outside the ranges that their comments name
  static void check(options const& o) {
    precondition(0 <= o.beta1 && o.beta1 < 1 && 0 <= o.beta2 && o.beta2 < 1,
                 "zero::AdamW: beta1 and beta2 must be 0 or more and less than 1");
    precondition(0 < o.eps && is_finite(o.eps), "zero::AdamW: eps must be above 0, and finite");
    precondition(0 <= o.weight_decay && is_finite(o.weight_decay),
                 "zero::AdamW: weight_decay must be 0 or more, and finite");
  }

  /// What one step needs, formed in FP64 and rounded once.
  struct scalars {
    float beta1 = 0;               ///< beta1
    float one_minus_beta1 = 0;     ///< 1 - beta1
    float beta2 = 0;               ///< beta2
    float one_minus_beta2 = 0;     ///< 1 - beta2
    float inverse_correction = 0;  ///< 1 / sqrt(1 - beta2^t)
    float eps = 0;                 ///< eps
    float keep = 0;                ///< 1 - lr weight_decay
    float step = 0;                ///< lr / (1 - beta1^t)
  };

  /// @param o                    hyper-parameters
  /// @param lr                   the learning rate of this step and group
  /// @param weight_decay_factor  1, or 0 for parameters without weight decay
  /// @param t                    the number of this applied step, 1 for the first
  /// @return the step's scalars
  [[nodiscard]] ZERO_HOST_DEVICE ZERO_EXACT static scalars prepare(options const& o,
                                                                   double lr,
                                                                   double weight_decay_factor,
                                                                   std::int64_t t) noexcept {
    double const correction1 = sub(1.0, power(o.beta1, t));
    double const correction2 = sub(1.0, power(o.beta2, t));
    scalars s;
    s.beta1 = narrow(o.beta1);
    s.one_minus_beta1 = narrow(sub(1.0, o.beta1));
    s.beta2 = narrow(o.beta2);
    s.one_minus_beta2 = narrow(sub(1.0, o.beta2));
    s.inverse_correction = narrow(div(1.0, zero::sqrt(correction2)));
    s.eps = narrow(o.eps);
    s.keep = narrow(sub(1.0, mul(lr, mul(o.weight_decay, weight_decay_factor))));
    s.step = narrow(div(lr, correction1));
    return s;
  }

  /// Updates one element.
  /// @param w  the element
  /// @param g  its gradient
  /// @param m  its moments: the mean of gradients and the mean of their squares
  /// @param s  the step's scalars
  ZERO_HOST_DEVICE ZERO_EXACT static void update(float& w,
                                                 float g,
                                                 float (&m)[2],
                                                 scalars const& s) noexcept {
    m[0] = add(mul(s.beta1, m[0]), mul(s.one_minus_beta1, g));
    // Scaled before it is squared, as torch does: overflows later than g * g.
    m[1] = add(mul(s.beta2, m[1]), mul(mul(s.one_minus_beta2, g), g));
    float const denominator = add(mul(zero::sqrt(m[1]), s.inverse_correction), s.eps);
    w = sub(mul(w, s.keep), mul(s.step, div(m[0], denominator)));
  }
};

static_assert(optimizer<AdamW>);

}  // namespace zero::inline ZERO_ABI
