// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/traffic.hpp>
#include <zero/plan/operation.hpp>
#include <zero/plan/places.hpp>
#include <zero/plan/plan.hpp>
#include <zero/plan/pools.hpp>
#include <zero/plan/segment.hpp>
#include <zero/plan/transfers.hpp>
#include <zero/version.hpp>

#include <array>
#include <cstddef>

namespace zero::inline ZERO_ABI {

/// What the collectives of a plan do with a pool. A communicator that is told of memory maps it,
/// which costs page tables; this says what it has to be told of.
struct pool_travel {
  bool sent = false;      ///< a rank's bytes in it go to others
  bool received = false;  ///< others' bytes come into it
  bool summed = false;    ///< it holds gradients of a micro-step, which are summed over the ranks
};

/// For each pool, what the operations of all passes and of the step do with it. One rank moves
/// nothing.
[[nodiscard]] constexpr std::array<pool_travel, pool_count> travel_of(execution_plan const& plan) {
  std::array<pool_travel, pool_count> result{};
  rank_places const places(plan, 0);
  auto const look = [&](segment const& s) {
    for (operation const& op : s.operations) {
      for (transfer const& t : transfers_of(places, op)) {
        auto& from = result[static_cast<std::size_t>(t.from.purpose)];
        from.sent = true;
        from.summed |=
            t.kind == collective::all_to_others && t.from.purpose == pool::gradient_slots;
        result[static_cast<std::size_t>(t.to.purpose)].received = true;
      }
    }
  };
  for (segment const& s : plan.passes) {
    look(s);
  }
  look(plan.step);
  return result;
}

}  // namespace zero::inline ZERO_ABI
