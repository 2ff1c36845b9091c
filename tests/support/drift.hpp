// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/arithmetic.hpp>
#include <zero/core/config.hpp>
#include <zero/policy/optimizer.hpp>

#include <cstdint>

namespace zero::test {

/// When a drifting optimizer moves parameters that have no gradient.
enum class drift { always, without_decay, later, moment };

/// An optimizer under which padding would come alive: adds the learning rate to a weight, or 1 to a
/// moment, in some steps.
template <drift When>
struct Drift {
  using policy_category = optimizer_category;
  static constexpr int moments = 1;

  struct options {
    double lr = 1e-3;
  };

  struct scalars {
    float weight = 0;
    float moment = 0;
  };

  [[nodiscard]] ZERO_HOST_DEVICE ZERO_EXACT static scalars prepare(options const&,
                                                                   double lr,
                                                                   double decay,
                                                                   std::int64_t t) noexcept {
    bool const moves = When == drift::always || (When == drift::without_decay && decay == 0) ||
                       (When == drift::later && t > 1);
    return {moves ? narrow(lr) : 0.0F, When == drift::moment ? 1.0F : 0.0F};
  }

  ZERO_HOST_DEVICE ZERO_EXACT static void update(float& w,
                                                 float g,
                                                 float (&m)[1],
                                                 scalars const& s) noexcept {
    w = sub(add(w, s.weight), g);
    m[0] = add(m[0], s.moment);
  }
};

}  // namespace zero::test
