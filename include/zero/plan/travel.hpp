// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/plan/operation.hpp>
#include <zero/plan/plan.hpp>
#include <zero/plan/pools.hpp>
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
  auto const send = [&](pool p) { result[static_cast<std::size_t>(p)].sent = true; };
  auto const receive = [&](pool p) { result[static_cast<std::size_t>(p)].received = true; };
  auto const look = [&](segment const& s) {
    for (operation const& op : s.operations) {
      pool const gradient = op.has(flag_wide) ? pool::gradients : pool::gradient_slots;
      switch (op.kind) {
        case operation_kind::gather:
          send(pool::parameters);
          receive(pool::parameter_slots);
          break;
        case operation_kind::publish:
          send(pool::parameters);
          receive(pool::parameters);
          break;
        case operation_kind::gather_sums:
          send(pool::gradients);
          receive(pool::gradients);
          break;
        case operation_kind::exchange:
          send(gradient);
          receive(pool::receive);
          result[static_cast<std::size_t>(pool::gradient_slots)].summed |= !op.has(flag_wide);
          break;
        case operation_kind::reduce_scatter:
          send(gradient);
          receive(gradient);
          break;
        case operation_kind::agree:
          send(pool::control);
          receive(pool::control);
          break;
        default:
          break;
      }
    }
  };
  for (segment const& s : plan.passes) {
    look(s);
  }
  look(plan.step);
  return plan.config.world > 1 ? result : std::array<pool_travel, pool_count>{};
}

}  // namespace zero::inline ZERO_ABI
