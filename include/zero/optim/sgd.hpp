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

/// Stochastic gradient descent with momentum, as torch.optim.SGD: weight decay is coupled, it joins
/// the gradient. One moment: 8 bytes of state an element with the FP32 master. `PlainSgd` is the
/// one without momentum.
///
///     d = g + weight_decay w
///     m = momentum m + (1 - dampening) d      (first step: m = d)
///     w = w - lr m                            (nesterov: w = w - lr (d + momentum m))
struct Sgd {
  using policy_category = optimizer_category;

  /// Numbers kept for each element: the momentum.
  static constexpr int moments = 1;

  /// Hyper-parameters. The defaults are those of torch.optim.SGD but for the momentum, which is 0
  /// there.
  struct options {
    double lr = 1e-3;         ///< learning rate, where `step` is given none
    double momentum = 0.9;    ///< decay of the moment, 0 or more
    double dampening = 0;     ///< the share of the gradient that the moment leaves out
    double weight_decay = 0;  ///< times w: added to the gradient; 0 or more
    bool nesterov = false;    ///< look ahead: Sutskever et al., ICML 2013, as torch simplifies it;
                              ///< with momentum and without dampening
  };

  /// @throws logic_error for options outside the ranges that their comments name
  static void check(options const& o) {
    precondition(0 <= o.momentum && is_finite(o.momentum) && is_finite(o.dampening),
                 "zero::Sgd: momentum must be 0 or more, and finite; dampening finite");
    precondition(0 <= o.weight_decay && is_finite(o.weight_decay),
                 "zero::Sgd: weight_decay must be 0 or more, and finite");
    precondition(!o.nesterov || (0 < o.momentum && o.dampening == 0),
                 "zero::Sgd: nesterov needs momentum above 0 and no dampening");
  }

  /// What one step needs, formed in FP64 and rounded once.
  struct scalars {
    float lr = 0;            ///< the learning rate
    float momentum = 0;      ///< momentum
    float intake = 0;        ///< 1 - dampening; 1 in the first step
    float weight_decay = 0;  ///< weight_decay; 0 for parameters without
    bool nesterov = false;   ///< look ahead
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
    scalars s;
    s.lr = narrow(lr);
    s.momentum = narrow(o.momentum);
    s.intake = t <= 1 ? 1.0F : narrow(sub(1.0, o.dampening));
    s.weight_decay = narrow(mul(o.weight_decay, weight_decay_factor));
    s.nesterov = o.nesterov;
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
    float const direction = add(g, mul(s.weight_decay, w));
    m[0] = add(mul(s.momentum, m[0]), mul(s.intake, direction));
    float const ahead = add(direction, mul(s.momentum, m[0]));
    w = sub(w, mul(s.lr, s.nesterov ? ahead : m[0]));
  }
};

static_assert(optimizer<Sgd>);

/// Stochastic gradient descent without momentum, as torch.optim.SGD: w = w - lr (g + weight_decay
/// w). No moment: 4 bytes of state an element, the FP32 master; none for FP32 parameters.
struct PlainSgd {
  using policy_category = optimizer_category;

  /// Numbers kept for each element: none.
  static constexpr int moments = 0;

  /// Hyper-parameters. The defaults are those of torch.optim.SGD.
  struct options {
    double lr = 1e-3;         ///< learning rate, where `step` is given none
    double weight_decay = 0;  ///< times w: added to the gradient; 0 or more
  };

  /// @throws logic_error for options outside the ranges that their comments name
  static void check(options const& o) {
    precondition(0 <= o.weight_decay && is_finite(o.weight_decay),
                 "zero::PlainSgd: weight_decay must be 0 or more, and finite");
  }

  /// What one step needs, formed in FP64 and rounded once.
  struct scalars {
    float lr = 0;            ///< the learning rate
    float weight_decay = 0;  ///< weight_decay; 0 for parameters without
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
    s.lr = narrow(lr);
    s.weight_decay = narrow(mul(o.weight_decay, weight_decay_factor));
    return s;
  }

  /// Updates one element.
  /// @param w  the element
  /// @param g  its gradient
  /// @param s  the step's scalars
  ZERO_HOST_DEVICE ZERO_EXACT static void update(float& w,
                                                 float g,
                                                 float* /*m*/,
                                                 scalars const& s) noexcept {
    w = sub(w, mul(s.lr, add(g, mul(s.weight_decay, w))));
  }
};

static_assert(optimizer<PlainSgd>);

}  // namespace zero::inline ZERO_ABI
