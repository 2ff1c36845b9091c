// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/traffic.hpp>
#include <zero/plan/placement.hpp>
#include <zero/plan/places.hpp>
#include <zero/plan/plan.hpp>
#include <zero/plan/segment.hpp>
#include <zero/plan/transfers.hpp>
#include <zero/version.hpp>

namespace zero::inline ZERO_ABI {

/// Collectives and bytes that one rank sends when it runs `s`, by the printed schedule. Compare
/// with the communicator's own counters.
[[nodiscard]] constexpr traffic wire_of(execution_plan const& plan, segment const& s) {
  traffic t;
  rank_places const places(plan, 0);  // all ranks send alike
  for (auto const& op : s.operations) {
    for (auto const& each : transfers_of(places, op)) {
      auto& entry = t[each.kind];
      entry.count += 1;
      entry.bytes += (size_of(each.over, plan.config.world) - 1) * each.bytes;
    }
  }
  return t;
}

}  // namespace zero::inline ZERO_ABI
