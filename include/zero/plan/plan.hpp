// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/arithmetic.hpp>
#include <zero/core/error.hpp>
#include <zero/model/parameter.hpp>
#include <zero/model/program.hpp>
#include <zero/plan/config.hpp>
#include <zero/plan/control.hpp>
#include <zero/plan/groups.hpp>
#include <zero/plan/layout.hpp>
#include <zero/plan/pass_kind.hpp>
#include <zero/plan/placement.hpp>
#include <zero/plan/pools.hpp>
#include <zero/plan/schedule.hpp>
#include <zero/plan/segment.hpp>
#include <zero/plan/slot_plan.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace zero::inline ZERO_ABI {

/// Layout, pools, program and segments: all that is known before the first byte is allocated. A
/// pure value: equal on every rank, computable by the compiler, printable (plan/print.hpp),
/// comparable by digest (plan/digest.hpp), checkable for races (plan/race_checker.hpp).
struct execution_plan {
  plan_config config;                 ///< what was asked for
  std::vector<parameter> parameters;  ///< of the model, in order
  zero::program program;              ///< opens and closes of a pass
  model_plan_layout layout;           ///< units, ranges and shards
  update_groups groups;               ///< which scalars update which elements
  slot_plans slots;                   ///< the working memory of open units
  pool_plan pools;                    ///< bytes, by purpose and tier
  std::vector<segment> passes;        ///< by `index_of(pass_kind)`
  segment step;                       ///< the operations of the step

  /// Bytes that one rank allocates in a tier.
  [[nodiscard]] constexpr std::int64_t bytes(tier in) const { return pools.bytes(in); }

  /// Bytes that one rank allocates on the device.
  [[nodiscard]] constexpr std::int64_t device_bytes() const { return bytes(tier::device); }

  /// Whether all pools fit into `free_bytes` beside what the plan cannot know: `user_bytes` of
  /// activations, a context that is still to come, and buffers of the communicator.
  [[nodiscard]] constexpr bool fits(std::int64_t free_bytes, std::int64_t user_bytes) const {
    return device_bytes() <= free_bytes - user_bytes;
  }

  /// Bytes of states, gradients, slots and pieces by the closed form, padding not counted.
  [[nodiscard]] constexpr std::int64_t formula_bytes() const { return pools.formula_bytes(); }
};

/// The parts of the control pool of a plan.
[[nodiscard]] constexpr control_layout control_layout_of(execution_plan const& plan) {
  return make_control_layout(
      plan.layout, static_cast<std::int64_t>(plan.groups.segments.size()), plan.config);
}

/// Layout, program and pools without the segments: enough for every byte count, and cheap enough
/// for `static_assert` on models of hundreds of units.
[[nodiscard]] constexpr execution_plan make_memory_plan(std::vector<parameter> parameters,
                                                        std::int32_t units,
                                                        program program,
                                                        plan_config const& config) {
  precondition(config.world >= 1, "zero::plan: the number of ranks must be at least 1");
  precondition(config.stage >= 0 && config.stage <= 3,
               "zero::plan: the stage must be 0, 1, 2 or 3");
  precondition(config.world <= full_window_bytes / 128,
               "zero::plan: at most 2048 ranks are supported");
  auto const& schedule = config.schedule;
  precondition(schedule.prefetch_units >= 0 && schedule.prefetch_units <= 1024,
               "zero::plan: prefetch_units must be from 0 to 1024");
  precondition(schedule.piece_bytes > 0, "zero::plan: piece_bytes must be positive");
  precondition(schedule.residency_bytes >= 0, "zero::plan: residency_bytes must not be negative");
  precondition(
      config.unit_stages.empty() || config.unit_stages.size() == static_cast<std::size_t>(units),
      "zero::plan: unit_stages needs a stage for each of the model's units, or none");
  for (auto const stage : config.unit_stages) {
    precondition(stage >= -1 && stage <= 3, "zero::plan: the stage of a unit must be 0, 1, 2 or 3");
  }
  precondition(config.moments >= 0 && config.moments <= max_moments,
               "zero::plan: an optimizer keeps 0, 1 or 2 moments");
  for (auto const& p : parameters) {
    precondition(
        is_finite(p.traits.lr_scale) && p.traits.lr_scale >= 0,
        "zero::plan: the lr_scale of a parameter must be finite and not negative; freeze what "
        "is not to be trained");
  }
  execution_plan plan;
  plan.config = config;
  plan.parameters = std::move(parameters);
  plan.program = std::move(program);
  plan.layout = make_layout(plan.parameters, units, plan.program, config);
  plan.slots = plan_slots(plan.layout, plan.program, config);
  plan.pools =
      make_pools(plan.layout, plan.slots, count_segments(plan.layout, plan.parameters), config);
  return plan;
}

/// The whole plan of one rank. Linear in units and pieces.
/// @throws logic_error when a setting is out of its range, or the model has more than
///         `max_elements` elements; the sentence names it.
[[nodiscard]] constexpr execution_plan make_plan(std::vector<parameter> parameters,
                                                 std::int32_t units,
                                                 program program,
                                                 plan_config const& config) {
  auto plan = make_memory_plan(std::move(parameters), units, std::move(program), config);
  plan.groups = make_groups(plan.layout, plan.parameters);
  for (int i = 0; i < pass_kinds; ++i) {
    plan.passes.push_back(
        emit_pass(plan.layout, plan.program, plan.slots, plan.config, pass_at(i)));
  }
  plan.step = emit_step(plan.layout, plan.program, plan.config);
  return plan;
}

}  // namespace zero::inline ZERO_ABI
