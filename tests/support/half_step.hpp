// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/arithmetic.hpp>
#include <zero/core/config.hpp>
#include <zero/policy/optimizer.hpp>

#include <cstdint>

namespace zero::test {

/// An optimizer as a user writes one: goes half the way of a running mean whose weight grows with
/// the step, so that a wrong step count is noticed.
struct HalfStep {
  using policy_category = optimizer_category;
  static constexpr int moments = 2;

  struct options {
    double lr = 1e-3;
    double memory = 0.75;
  };

  struct scalars {
    float lr = 0;
    float keep = 0;
    float memory = 0;
  };

  [[nodiscard]] ZERO_HOST_DEVICE ZERO_EXACT static scalars prepare(options const& o,
                                                                   double lr,
                                                                   double weight_decay_factor,
                                                                   std::int64_t t) noexcept {
    scalars s;
    s.lr = narrow(div(lr, static_cast<double>(t)));
    s.keep = narrow(sub(1.0, mul(0.0625, weight_decay_factor)));
    s.memory = narrow(o.memory);
    return s;
  }

  ZERO_HOST_DEVICE ZERO_EXACT static void update(float& w,
                                                 float g,
                                                 float (&m)[2],
                                                 scalars const& s) noexcept {
    m[0] = fma(s.memory, m[0], g);
    m[1] = fma(s.memory, m[1], mul(g, g));
    w = fma(sub(0.0F, s.lr), div(m[0], add(zero::sqrt(m[1]), 1.0F)), mul(w, s.keep));
  }
};

}  // namespace zero::test
