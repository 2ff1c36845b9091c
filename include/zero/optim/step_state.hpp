// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/arithmetic.hpp>
#include <zero/core/config.hpp>
#include <zero/core/limits.hpp>
#include <zero/optim/concepts.hpp>
#include <zero/optim/loss_scale.hpp>
#include <zero/optim/step_control.hpp>
#include <zero/version.hpp>

#include <cstdint>

namespace zero::inline ZERO_ABI {

/// Why a step was skipped.
enum class skip_reason : std::uint8_t {
  none,                ///< it was not
  nonfinite_gradient,  ///< a gradient is infinite or NaN on some rank
  nonfinite_scale,     ///< the gradient is finite, but the scale it is multiplied by is not, or may
                       ///< lift it out of the range of FP32; the loss scale stays as it is
};

/// What one rank tells the others before a step: 8 bytes.
struct rank_record {
  double squares = 0;  ///< the sum of squares of its shard's gradient, as accumulated and still
                       ///< scaled; not finite if and only if a gradient is not
};

/// What is known of a step once it was decided.
struct step_record {
  std::int64_t step = 0;                   ///< counts all steps, skipped ones too; 1 is the first
  bool applied = false;                    ///< whether parameters and moments changed
  skip_reason reason = skip_reason::none;  ///< why not
  double norm = 0;  ///< L2 norm of the averaged, unscaled gradient before clipping; not finite
                    ///< if the step was skipped for it
  double clip_factor = 1;           ///< what clipping multiplied the gradient by; at most 1
  double loss_scale = 1;            ///< in force in this step's backward
  std::int64_t applied_steps = 0;   ///< how many of the steps up to this one were applied
  std::int64_t skipped_in_row = 0;  ///< skipped steps up to this one; 0 if it was applied
  bool at_floor = false;  ///< an overflow wanted to halve a loss scale that was at its minimum
};

/// What sets a group of parameters apart.
struct group_options {
  double lr_scale = 1;  ///< multiplies the learning rate
  double decay = 1;     ///< multiplies the weight decay: 1 or 0

  friend constexpr bool operator==(group_options const&, group_options const&) = default;
};

/// What does not change from step to step. Trivially copyable.
template <optimizer O>
struct step_config {
  typename O::options options;       ///< hyper-parameters; their lr is replaced by the step's
  group_options groups[max_groups];  ///< the groups of parameters
  std::int32_t group_count = 1;      ///< how many are used
  bool scaled = false;               ///< whether the loss is scaled (FP16)
  loss_scale_options scaling;        ///< how
};

/// The state of the optimizer that is one for all elements, and the decisions of the step that
/// runs. Lives on the device, the same on every rank. Trivially copyable.
template <optimizer O>
struct step_state {
  std::int64_t applied_steps = 0;          ///< the optimizer's step counter
  loss_scale_state scaling;                ///< where the loss scale stands
  float loss_scale = 1;                    ///< the scale as the user's kernels read it
  float coefficient = 0;                   ///< what `update` multiplies an accumulated gradient by
  bool apply = false;                      ///< whether `update` changes anything
  typename O::scalars groups[max_groups];  ///< each group's scalars
  step_record last;                        ///< of the last step
};

/// @param config  what does not change from step to step
/// @return the state before the first step
template <optimizer O>
[[nodiscard]] ZERO_HOST_DEVICE ZERO_EXACT step_state<O> initial_state(
    step_config<O> const& config) noexcept {
  step_state<O> state;
  if (config.scaled) {
    state.scaling = initial_state(config.scaling);
    state.loss_scale = narrow(state.scaling.scale);
  }
  return state;
}

/// Decides a step from the records of all ranks: norm, skip, clip factor, the optimizer's scalars
/// and the next loss scale. Every rank runs it on the same records and so comes to the same
/// decisions; no host takes part. One thread; host or device.
///
/// - total = sum of squares in rank order; norm = sqrt(total) |scale| with scale = mean x
///   gradient_scale x device_gradient_scale / loss scale in force, all in FP64.
/// - factor = min(1, clip_norm / (norm + 1e-6)), 1 without clipping; coefficient = scale x factor,
///   rounded once to FP32.
/// - The step is skipped if total, scale or coefficient is not finite, or if coefficient is above 1
///   and norm x factor is beyond FP32. A skipped step leaves everything but the loss scale and the
///   record untouched.
/// - Last, the loss scale moves on; the gradient was unscaled with the old one.
///
/// @param state    the state; changed
/// @param records  one a rank
/// @param ranks    how many
/// @param control  the step's numbers
/// @param config   what does not change
template <optimizer O>
ZERO_HOST_DEVICE ZERO_EXACT void decide(step_state<O>& state,
                                        rank_record const* records,
                                        int ranks,
                                        step_control const& control,
                                        step_config<O> const& config) noexcept {
  double total = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    total = add(total, records[rank].squares);
  }
  double scale = mul(control.mean, control.gradient_scale);
  if (control.device_gradient_scale != nullptr) {
    scale = mul(scale, *control.device_gradient_scale);
  }
  scale = div(scale, widen(state.loss_scale));

  step_record record;
  record.step = state.last.step + 1;
  record.loss_scale = widen(state.loss_scale);
  record.norm = mul(zero::sqrt(total), abs(scale));
  if (less(0.0, control.clip_norm)) {
    double const factor = div(control.clip_norm, add(record.norm, 1e-6));
    record.clip_factor = less(factor, 1.0) ? factor : 1.0;
  }
  float const coefficient = narrow(mul(scale, record.clip_factor));

  bool const overflow = !is_finite(total);
  constexpr double largest = 0x1.fffffep127;  // of FP32
  if (overflow) {
    record.reason = skip_reason::nonfinite_gradient;
  } else if (!is_finite(scale) || !is_finite(coefficient) ||
             (less(1.0F, abs(coefficient)) &&
              !less(mul(record.norm, record.clip_factor), largest))) {
    record.reason = skip_reason::nonfinite_scale;
  }
  record.applied = record.reason == skip_reason::none;
  record.skipped_in_row = record.applied ? 0 : state.last.skipped_in_row + 1;
  if (!record.applied) {
    record.clip_factor = 1;
  }

  state.apply = record.applied;
  state.coefficient = record.applied ? coefficient : 0.0F;
  if (record.applied) {
    ++state.applied_steps;
    for (int group = 0; group < config.group_count; ++group) {
      group_options const& traits = config.groups[group];
      state.groups[group] = O::prepare(
          config.options, mul(control.lr, traits.lr_scale), traits.decay, state.applied_steps);
    }
  }
  record.applied_steps = state.applied_steps;
  if (config.scaled && record.reason != skip_reason::nonfinite_scale) {
    record.at_floor = zero::update(state.scaling, config.scaling, overflow);
    state.loss_scale = narrow(state.scaling.scale);
  }
  state.last = record;
}

}  // namespace zero::inline ZERO_ABI
