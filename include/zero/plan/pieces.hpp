// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/core/norm.hpp>
#include <zero/plan/config.hpp>
#include <zero/plan/layout.hpp>
#include <zero/version.hpp>

#include <algorithm>
#include <cstdint>

namespace zero::inline ZERO_ABI {

/// Most elements of a shard that one piece of an ordered reduction covers: `piece_bytes` of what
/// the other ranks send, in whole norm blocks, and at least one block.
[[nodiscard]] constexpr std::int64_t piece_elements(plan_config const& config,
                                                    std::int64_t wire_bytes) {
  auto const others = std::max(std::int64_t{config.world} - 1, std::int64_t{1});
  auto const fits = config.schedule.piece_bytes / (others * wire_bytes);
  return std::max(norm_block, fits / norm_block * norm_block);
}

/// Type in which the gradients of a range travel.
/// @param wide  the accumulators do, and not the gradient slot
[[nodiscard]] constexpr dtype wire_type(plan_config const& config, dtype type, bool wide) {
  return wide ? accumulator_type(config, type) : type;
}

/// Bytes of one element of those.
[[nodiscard]] constexpr std::int64_t wire_bytes(plan_config const& config, dtype type, bool wide) {
  return bytes_of(wire_type(config, type, wide));
}

/// Bytes that a receive buffer needs for the pieces of a range: of what the other ranks send.
[[nodiscard]] constexpr std::int64_t receive_bytes(plan_config const& config,
                                                   unit_range const& range,
                                                   bool wide) {
  auto const wire = wire_bytes(config, range.type, wide);
  return (std::int64_t{config.world} - 1) * wire *
         std::min(range.shard(), piece_elements(config, wire));
}

}  // namespace zero::inline ZERO_ABI
