// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/arithmetic.hpp>
#include <zero/core/error.hpp>
#include <zero/optim/concepts.hpp>
#include <zero/optim/loss_scale.hpp>
#include <zero/optim/step_state.hpp>
#include <zero/version.hpp>

#include <cstdint>

namespace zero::inline ZERO_ABI {

/// How far a training has come, in numbers that are the same on every rank: what a program keeps
/// besides weights and moments to go on later as if it had never stopped.
struct step_progress {
  std::int64_t steps = 0;           ///< made, skipped ones too
  std::int64_t applied_steps = 0;   ///< of those, how many changed parameters
  std::int64_t skipped_in_row = 0;  ///< of the latest, how many were skipped one after the other
  loss_scale_state scaling;         ///< where the loss scale stands; without one {1, 0, 1}

  friend constexpr bool operator==(step_progress const&, step_progress const&) = default;
};

/// @throws logic_error, with a sentence, if the counters contradict each other, or the loss scale
/// is
///         none that a training can go on with
constexpr void check(step_progress const& p) {
  precondition(p.steps >= 0 && p.applied_steps >= 0 && p.skipped_in_row >= 0 &&
                   p.skipped_in_row <= p.steps && p.applied_steps <= p.steps - p.skipped_in_row,
               "zero::step_progress: of `steps`, at most `steps - skipped_in_row` can have been "
               "applied, and none of the counters is negative.");
  precondition(less(0x1p-126, p.scaling.scale) && less(p.scaling.scale, 0x1p127) &&
                   p.scaling.good_steps >= 0 && p.scaling.hysteresis >= 1,
               "zero::step_progress: the loss scale must be above 0 and within the range of FP32, "
               "its counters not negative and its hysteresis at least 1.");
}

/// The progress in a step's state.
template <optimizer O>
[[nodiscard]] step_progress progress_of(step_state<O> const& state) noexcept {
  return {state.last.step, state.applied_steps, state.last.skipped_in_row, state.scaling};
}

/// Puts a progress into a step's state.
/// @param scaled  whether losses are scaled; the loss scale is taken over only then
template <optimizer O>
void set_progress(step_state<O>& state, step_progress const& progress, bool scaled) noexcept {
  state.last.step = progress.steps;
  state.last.applied_steps = progress.applied_steps;
  state.last.skipped_in_row = progress.skipped_in_row;
  state.applied_steps = progress.applied_steps;
  if (scaled) {
    state.scaling = progress.scaling;
    state.loss_scale = narrow(progress.scaling.scale);
  }
}

}  // namespace zero::inline ZERO_ABI
