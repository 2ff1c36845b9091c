// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/arithmetic.hpp>
#include <zero/core/config.hpp>
#include <zero/core/error.hpp>
#include <zero/version.hpp>

#include <cstdint>

namespace zero::inline ZERO_ABI {

/// What happens when an overflow asks for a loss scale below the minimum.
enum class at_floor : std::uint8_t {
  stay,   ///< the scale stays at the minimum; the result says so
  raise,  ///< besides, reading the step's result throws numeric_error
};

/// How the loss scale of FP16 training changes. The gradient of the loss times the scale is what
/// the user's backward computes, so that small gradients stay above FP16's smallest number.
///
/// - The scale doubles on the window-th consecutive good step, not above `maximum`.
/// - An overflow (a gradient that is not finite, on any rank) ends the run of good steps. It halves
/// the
///   scale, not below `minimum`, if `hysteresis - 1` overflows were forgiven before; else it is
///   forgiven. Forgiveness is refilled
///   - by each doubling, and by reaching the window at the maximum (`consecutive_hysteresis`
///   false):
///     once the count is used up, each overflow halves until then;
///   - by each good step too (`consecutive_hysteresis` true): only overflows in a row count.
///
/// The names and meanings are those of DeepSpeed and Megatron-LM; DeepSpeed doubles one step later.
struct loss_scale_options {
  bool dynamic = true;     ///< false: the scale is `initial` for ever
  double initial = 65536;  ///< the scale of the first step
  int window = 1000;       ///< good steps in a row before a doubling, 1 or more
  int hysteresis = 2;      ///< the overflow that halves: 1 is the first, 2 the second, ...
  bool consecutive_hysteresis = false;             ///< whether a good step refills hysteresis
  double minimum = 1;                              ///< the floor, above 0
  double maximum = 4294967296;                     ///< the ceiling: 2^32
  zero::at_floor at_floor = zero::at_floor::stay;  ///< what an overflow at the floor does
};

/// Where the loss scale stands.
struct loss_scale_state {
  double scale = 1;             ///< in force in the next backward
  std::int32_t good_steps = 0;  ///< good steps in a row since the last overflow or doubling
  std::int32_t hysteresis = 1;  ///< the overflow that halves, counted from now

  friend constexpr bool operator==(loss_scale_state const&, loss_scale_state const&) = default;
};

/// @param o  options
/// @throws logic_error, with a sentence, if they make no sense
constexpr void check(loss_scale_options const& o) {
  precondition(less(0x1p-126, o.initial) && less(o.initial, 0x1p127),
               "zero::loss_scale_options: initial must be above 0 and within the range of FP32.");
  if (!o.dynamic) {
    return;
  }
  precondition(o.window >= 1 && o.hysteresis >= 1,
               "zero::loss_scale_options: window and hysteresis must be 1 or more.");
  precondition(
      less(0x1p-126, o.minimum) && less(o.maximum, 0x1p127),
      "zero::loss_scale_options: minimum must be above 0 and maximum within the range of FP32.");
  precondition(!less(o.initial, o.minimum) && !less(o.maximum, o.initial),
               "zero::loss_scale_options: initial must lie between minimum and maximum.");
}

/// @param o  options
/// @return the state before the first step
[[nodiscard]] ZERO_HOST_DEVICE constexpr loss_scale_state initial_state(
    loss_scale_options const& o) noexcept {
  return {o.initial, 0, o.hysteresis};
}

/// Moves the loss scale on by one step. Call it after the step's gradient was unscaled with the
/// scale in force.
/// @param state     where the scale stands; changed
/// @param o         options
/// @param overflow  whether the step's gradient was not finite on some rank
/// @return whether an overflow wanted to halve a scale that was at its minimum
ZERO_HOST_DEVICE ZERO_EXACT constexpr bool update(loss_scale_state& state,
                                                  loss_scale_options const& o,
                                                  bool overflow) noexcept {
  if (!o.dynamic) {
    return false;
  }
  if (overflow) {
    state.good_steps = 0;
    if (state.hysteresis > 1) {
      --state.hysteresis;
      return false;
    }
    bool const stuck = !less(o.minimum, state.scale);
    double const half = mul(state.scale, 0.5);
    state.scale = less(half, o.minimum) ? o.minimum : half;
    return stuck;
  }
  if (o.consecutive_hysteresis) {
    state.hysteresis = o.hysteresis;
  }
  ++state.good_steps;
  if (state.good_steps >= o.window) {
    state.good_steps = 0;
    state.hysteresis = o.hysteresis;
    double const twice = mul(state.scale, 2.0);
    state.scale = less(o.maximum, twice) ? o.maximum : twice;
  }
  return false;
}

}  // namespace zero::inline ZERO_ABI
