// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/plan/schedule_options.hpp>
#include <zero/plan/state_layout.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace zero::inline ZERO_ABI {

/// Everything that a plan depends on besides the model and its program: the policies as values, the
/// number of ranks, and the settings of the schedule. Two ranks with equal configurations, models
/// and programs have equal plans.
struct plan_config {
  int world = 1;  ///< ranks, at least 1; any number, not only powers of two
  int stage = 0;  ///< ZeRO stage, 0 to 3, of units that `unit_stages` does not name
  std::vector<std::int8_t> unit_stages{};  ///< a stage for each of the model's units, or -1 for
                                           ///< `stage`; empty: `stage` for all of them
  bool native_accumulate = false;  ///< `Accumulate<Native>`: accumulators in the parameter's type
  bool native_reduction = false;   ///< `Reduction<Native>`: reduce-scatter, sums in the wire type
  bool averages_on_wire = false;   ///< FP16 with `Reduction<Native>`: contributions are divided by
                                   ///< the number of ranks before they are added
  int moments = 2;                 ///< state arrays of the optimizer, master weights not counted
  schedule_options schedule{};     ///< when and in what portions bytes move
  std::int64_t state_bytes =
      4096;  ///< of the step's state on the device, from the optimizer's types

  /// The stage of a unit; the unit of resident parameters, behind the model's own, has `stage`.
  [[nodiscard]] constexpr int stage_of(std::int32_t unit) const {
    auto const u = static_cast<std::size_t>(unit);
    return u < unit_stages.size() && unit_stages[u] >= 0 ? unit_stages[u] : stage;
  }

  friend constexpr bool operator==(plan_config const&, plan_config const&) = default;
};

/// Bytes of one accumulator element for parameters of type `type`.
[[nodiscard]] constexpr std::int64_t accumulator_bytes(plan_config const& config, dtype type) {
  return config.native_accumulate ? bytes_of(type) : 4;
}

/// Type of the accumulators of parameters of type `type`.
[[nodiscard]] constexpr dtype accumulator_type(plan_config const& config, dtype type) {
  return config.native_accumulate ? type : dtype::fp32;
}

/// The optimizer state of parameters of type `type`.
[[nodiscard]] constexpr state_layout state_layout_of(plan_config const& config, dtype type) {
  return make_state_layout(config.moments, type);
}

}  // namespace zero::inline ZERO_ABI
