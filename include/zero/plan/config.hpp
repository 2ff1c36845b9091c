// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/version.hpp>

#include <cstdint>

namespace zero::inline ZERO_ABI {

/// Everything that a plan depends on besides the model and its program: the policies as values, the
/// number of ranks, and the settings of the schedule. Two ranks with equal configurations, models
/// and programs have equal plans.
struct plan_config {
  int world = 1;                   ///< ranks, at least 1; any number, not only powers of two
  int stage = 0;                   ///< ZeRO stage, 0 to 3
  bool native_accumulate = false;  ///< `Accumulate<Native>`: accumulators in the parameter's type
  bool native_reduction = false;   ///< `Reduction<Native>`: reduce-scatter, sums in the wire type
  int moments = 2;         ///< FP32 state arrays of the optimizer, master weights not counted
  int prefetch_units = 1;  ///< gathers issued ahead of the open unit, in units (stage 3)
  /// Most bytes of one piece of an ordered reduction as it arrives: the other ranks' parts. A piece
  /// has whole norm blocks, and one at least: below 2048 elements of each other rank it acts as
  /// that.
  std::int64_t piece_bytes = std::int64_t{32} << 20;
  std::int64_t residency_bytes = std::int64_t{16}
                                 << 10;  ///< parameters up to this size are resident
  bool gather_tied =
      false;  ///< stage 3: gather units that a pass visits twice, instead of keeping them
  std::int64_t state_bytes =
      4096;  ///< of the step's state on the device, from the optimizer's types

  friend constexpr bool operator==(plan_config const&, plan_config const&) = default;
};

/// Bytes of one accumulator element for parameters of type `type`.
[[nodiscard]] constexpr std::int64_t accumulator_bytes(plan_config const& config, dtype type) {
  return config.native_accumulate ? bytes_of(type) : 4;
}

/// Bytes of optimizer state an element: the moments, and the FP32 master weight unless the
/// parameter itself is FP32 and so its own master.
[[nodiscard]] constexpr std::int64_t state_bytes(plan_config const& config, dtype type) {
  return 4 * std::int64_t{config.moments} + (type == dtype::fp32 ? 0 : 4);
}

}  // namespace zero::inline ZERO_ABI
