// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/version.hpp>

#include <cstdint>

namespace zero::inline ZERO_ABI::detail {

/// Where an operation stands: carried by each collective and named in failures.
struct operation_context {
  std::uint64_t sequence = 0;
  std::int64_t step = 0;
  std::uint8_t pass = 0;
  char const* unit_name = "";
  bool control_is_set = false;  ///< a replayed step: its numbers are written before the graph runs
};

}  // namespace zero::inline ZERO_ABI::detail
