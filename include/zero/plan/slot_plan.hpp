// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/model/program.hpp>
#include <zero/plan/config.hpp>
#include <zero/plan/layout.hpp>
#include <zero/plan/segment.hpp>
#include <zero/plan/slots.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace zero::inline ZERO_ABI {

/// Slots of one kind of pass: the intervals with the slots assigned to them, and for each token the
/// interval that it belongs to, or -1.
struct slot_plan {
  std::vector<slot_interval> intervals;         ///< in the order of opening
  std::vector<std::int32_t> interval_of_token;  ///< index, or -1
  std::vector<std::int64_t> slot_bytes;         ///< of each slot, largest first
  std::vector<std::int64_t> slot_offsets;       ///< bytes from the start of the pool

  /// Bytes of all slots.
  [[nodiscard]] constexpr std::int64_t bytes() const {
    return slot_bytes.empty() ? 0 : slot_offsets.back() + slot_bytes.back();
  }
};

/// The slots of a plan, assigned once for all passes.
struct slot_plans {
  slot_plan parameters;  ///< gathered ones
  slot_plan gradients;   ///< of open units
};

namespace detail {

/// Assigns the intervals of a plan to slots that lie one behind the other.
constexpr void place_slots(slot_plan& plan, int ahead) {
  plan.slot_bytes = assign_slots(plan.intervals, ahead);
  plan.slot_offsets.reserve(plan.slot_bytes.size());
  std::int64_t at = 0;
  for (auto const bytes : plan.slot_bytes) {
    plan.slot_offsets.push_back(at);
    at += bytes;
  }
}

}  // namespace detail

/// Slots for gathered parameters: one interval a visit group of each sharded unit. A group is the
/// visits between which the slot is not given away: overlapping leases, and a close followed at
/// once by an open of the same unit (the turn from forward to backward). Planned over the training
/// pass; an evaluation pass uses the slots of its forward phase.
[[nodiscard]] constexpr slot_plan plan_parameter_slots(model_plan_layout const& layout,
                                                       std::vector<program_token> const& tokens,
                                                       int prefetch_units) {
  slot_plan plan;
  auto const count = static_cast<std::int32_t>(tokens.size());
  plan.interval_of_token = std::vector<std::int32_t>(tokens.size(), std::int32_t{-1});
  std::vector<std::int32_t> current(layout.units.size(), std::int32_t{-1});
  plan.intervals.reserve(tokens.size() / 2);
  auto const* const token = tokens.data();
  auto const* const units = layout.units.data();
  auto* const of_token = plan.interval_of_token.data();
  auto* const at = current.data();
  for (std::int32_t i = 0; i < count; ++i) {
    auto const u = token[i].unit;
    if (!units[u].in.parameters.sharded() || units[u].parameter_slot_bytes == 0) {
      continue;
    }
    if (token[i].open && (at[u] < 0 || plan.intervals.data()[at[u]].close != i)) {
      at[u] = static_cast<std::int32_t>(plan.intervals.size());
      plan.intervals.push_back({u, i + 1, i + 1, units[u].parameter_slot_bytes});
    }
    plan.intervals.data()[at[u]].close = i + 1;
    of_token[i] = at[u];
  }
  detail::place_slots(plan, prefetch_units);
  return plan;
}

/// Slots for gradients: one interval for each trained unit, from its first backward open to its
/// last backward close, and one slot more than are open at once, so that a reduction hides behind
/// the next unit's backward. The resident unit's slot is held for the whole pass; its interval is
/// the first.
[[nodiscard]] constexpr slot_plan plan_gradient_slots(model_plan_layout const& layout,
                                                      std::vector<program_token> const& tokens) {
  slot_plan plan;
  auto const count = static_cast<std::int32_t>(tokens.size());
  plan.interval_of_token = std::vector<std::int32_t>(tokens.size(), std::int32_t{-1});
  std::vector<std::int32_t> current(layout.units.size(), std::int32_t{-1});
  plan.intervals.reserve(tokens.size() / 4 + 1);
  auto const* const token = tokens.data();
  auto const* const units = layout.units.data();
  auto* const of_token = plan.interval_of_token.data();
  auto* const at = current.data();
  if (layout.trains_residents()) {
    plan.intervals.push_back(
        {layout.resident_unit, 0, count + 1, units[layout.resident_unit].gradient_slot_bytes});
  }
  for (std::int32_t i = 0; i < count; ++i) {
    auto const u = token[i].unit;
    if (token[i].ph != phase::backward || !units[u].trained) {
      continue;
    }
    if (at[u] < 0) {
      at[u] = static_cast<std::int32_t>(plan.intervals.size());
      plan.intervals.push_back({u, i + 1, i + 1, units[u].gradient_slot_bytes});
    }
    plan.intervals.data()[at[u]].close = i + 1;
    of_token[i] = at[u];
  }
  detail::place_slots(plan, 1);
  return plan;
}

/// The slots of a program, for parameters and gradients. Linear in its tokens.
[[nodiscard]] constexpr slot_plans plan_slots(model_plan_layout const& layout,
                                              program const& program,
                                              plan_config const& config) {
  auto const tokens = tokens_of(program, true);
  return {plan_parameter_slots(layout, tokens, config.schedule.prefetch_units),
          plan_gradient_slots(layout, tokens)};
}

}  // namespace zero::inline ZERO_ABI
