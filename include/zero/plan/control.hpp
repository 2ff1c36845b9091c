// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/norm.hpp>
#include <zero/plan/config.hpp>
#include <zero/plan/layout.hpp>
#include <zero/version.hpp>

#include <cstdint>

namespace zero::inline ZERO_ABI {

/// Bytes of the window through which whole parameters are read (`engine.full`), 64 Ki FP32
/// elements.
inline constexpr std::int64_t full_window_bytes = std::int64_t{256} << 10;

/// Bytes of one rank's record in the agreement of the step.
inline constexpr std::int64_t agree_record_bytes = 8;

/// Results that the ring of results holds.
inline constexpr std::int64_t result_ring = 64;

/// Where the parts of the control pool start, in bytes.
struct control_layout {
  std::int64_t partials = 0;  ///< one FP64 a norm block
  std::int64_t scratch = 0;   ///< for the reduction of the partials
  std::int64_t records = 0;   ///< one FP64 a rank
  std::int64_t state = 0;     ///< `step_state`, `step_config`, `step_control`, `step_record`
  std::int64_t segments = 0;  ///< update segments of the owned elements
  std::int64_t window = 0;    ///< `full_window_bytes`, for whole parameters and small exchanges
  std::int64_t bytes = 0;     ///< of the whole pool
};

/// Lays out the control pool. `segments` is the number of update segments of all ranges.
[[nodiscard]] constexpr control_layout make_control_layout(model_plan_layout const& layout,
                                                           std::int64_t segments,
                                                           plan_config const& config) {
  control_layout c;
  std::int64_t at = 0;
  auto place = [&](std::int64_t bytes) {
    auto const start = at;
    at = detail::round_up(at + bytes, parameter_alignment_bytes);
    return start;
  };
  c.partials = place(8 * layout.norm_blocks);
  c.scratch = place(8 * norm_scratch(layout.norm_blocks));
  c.records = place(agree_record_bytes * config.world);
  c.state = place(config.state_bytes);
  c.segments = place(24 * segments);
  c.window = place(full_window_bytes);
  c.bytes = at;
  return c;
}

}  // namespace zero::inline ZERO_ABI
