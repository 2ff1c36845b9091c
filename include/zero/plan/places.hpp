// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/plan/config.hpp>
#include <zero/plan/control.hpp>
#include <zero/plan/layout.hpp>
#include <zero/plan/placement.hpp>
#include <zero/plan/plan.hpp>
#include <zero/plan/pools.hpp>
#include <zero/plan/state_layout.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>

namespace zero::inline ZERO_ABI {

/// Where bytes lie: a pool and an offset in it.
struct place {
  pool purpose = pool::parameters;  ///< of the pool
  tier in = tier::device;           ///< of the pool
  std::int64_t offset = 0;          ///< bytes from its start

  /// So many bytes further on.
  [[nodiscard]] constexpr place operator+(std::int64_t bytes) const {
    return {purpose, in, offset + bytes};
  }

  friend constexpr bool operator==(place const&, place const&) = default;
};

/// Where one rank has what a plan speaks of. Pure; a view of the plan.
class rank_places {
 public:
  /// The plan must outlive this.
  constexpr rank_places(execution_plan const& plan, int rank)
      : plan_(&plan),
        rank_(rank) {}

  /// Whose places these are.
  [[nodiscard]] constexpr int rank() const { return rank_; }

  /// The plan.
  [[nodiscard]] constexpr execution_plan const& plan() const { return *plan_; }

  /// The parameters that the rank holds of a range: all of it, or its shard.
  [[nodiscard]] constexpr place held_parameters(unit_range const& r) const {
    return {pool::parameters, in(r).parameters.in, r.parameter_offset};
  }

  /// The rank's shard of a range's parameters.
  [[nodiscard]] constexpr place shard_parameters(unit_range const& r) const {
    return held_parameters(r) + part(r, in(r).parameters) * bytes_of(r.type);
  }

  /// The accumulators that the rank holds of a range: all of it, or its shard.
  [[nodiscard]] constexpr place held_accumulators(unit_range const& r) const {
    return {pool::gradients, in(r).gradients.in, r.accumulator_offset};
  }

  /// The rank's shard of a range's accumulators.
  [[nodiscard]] constexpr place shard_accumulators(unit_range const& r) const {
    return held_accumulators(r) +
           part(r, in(r).gradients) * accumulator_bytes(plan_->config, r.type);
  }

  /// First element of a range that the rank updates.
  [[nodiscard]] constexpr std::int64_t owned_begin(unit_range const& r) const {
    return r.shard_begin(rank_, in(r).state.over);
  }

  /// How many it updates: its shard, or the whole range where state is not shared out.
  [[nodiscard]] constexpr std::int64_t owned_elements(unit_range const& r) const {
    return r.shard(in(r).state.over);
  }

  /// The accumulators of the elements that the rank updates.
  [[nodiscard]] constexpr place owned_accumulators(unit_range const& r) const {
    return in(r).state.sharded() ? shard_accumulators(r) : held_accumulators(r);
  }

  /// The parameters of those.
  [[nodiscard]] constexpr place owned_parameters(unit_range const& r) const {
    return in(r).state.sharded() ? shard_parameters(r) : held_parameters(r);
  }

  /// State array `which` of those, as `state_layout_of` numbers them.
  [[nodiscard]] constexpr place state(unit_range const& r, std::int32_t which) const {
    auto const layout = state_layout_of(plan_->config, r.type);
    return {
        pool::optimizer, in(r).state.in, r.state_offset + layout.offset(which, owned_elements(r))};
  }

  /// The FP32 weights of those: a state array, or the parameter itself where that is FP32.
  [[nodiscard]] constexpr place masters(unit_range const& r) const {
    auto const which = state_layout_of(plan_->config, r.type).find(state_role::master, 0);
    return which < 0 ? owned_parameters(r) : state(r, which);
  }

  /// A slot of gathered parameters.
  [[nodiscard]] constexpr place parameter_slot(std::int32_t slot) const {
    return {pool::parameter_slots,
            tier::device,
            plan_->slots.parameters.slot_offsets[static_cast<std::size_t>(slot)]};
  }

  /// A slot of an open unit's gradients.
  [[nodiscard]] constexpr place gradient_slot(std::int32_t slot) const {
    return {pool::gradient_slots,
            tier::device,
            plan_->slots.gradients.slot_offsets[static_cast<std::size_t>(slot)]};
  }

  /// A receive buffer, 0 or 1.
  [[nodiscard]] constexpr place receive(int buffer) const {
    return {pool::receive, tier::device, buffer * plan_->pools.receive_bytes};
  }

  /// The record that rank `of` gives to the agreement of a step.
  [[nodiscard]] constexpr place record(int of) const {
    return {
        pool::control, tier::device, control_layout_of(*plan_).records + of * agree_record_bytes};
  }

 private:
  [[nodiscard]] constexpr unit_placement const& in(unit_range const& r) const {
    return plan_->layout.unit_of(r).in;
  }

  /// First element of the rank's shard, counted from what the rank holds.
  [[nodiscard]] constexpr std::int64_t part(unit_range const& r, placement const& held) const {
    return held.sharded() ? 0 : r.shard_begin(rank_);
  }

  execution_plan const* plan_;
  int rank_;
};

}  // namespace zero::inline ZERO_ABI
