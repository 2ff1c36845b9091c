// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/traffic.hpp>
#include <zero/plan/plan.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>

namespace zero::inline ZERO_ABI {

/// Bytes of one rank's record in the agreement of the step.
inline constexpr std::int64_t agree_record_bytes = 8;

namespace detail {

/// Adds `calls` collectives in which this rank sends `bytes` in all.
constexpr void add_wire(traffic& t, collective c, std::int64_t calls, std::int64_t bytes) {
  auto& entry = t[c];
  entry.count += calls;
  entry.bytes += bytes;
}

/// What one operation puts on the wire.
constexpr void add_operation(traffic& t, execution_plan const& plan, operation const& op) {
  auto const others = std::int64_t{plan.config.world} - 1;
  if (others == 0) {
    return;
  }
  auto for_ranges = [&](auto f) {
    auto const& unit = plan.layout.units[static_cast<std::size_t>(op.unit)];
    for (auto r = unit.first_range; r < unit.first_range + unit.ranges; ++r) {
      f(plan.layout.ranges[static_cast<std::size_t>(r)]);
    }
  };
  switch (op.kind) {
    case operation_kind::gather:
      for_ranges([&](unit_range const& r) {
        add_wire(t, collective::all_gather, 1, others * r.shard * bytes_of(r.type));
      });
      break;
    case operation_kind::publish:
      for_ranges([&](unit_range const& r) {
        if (!r.frozen) {
          add_wire(t, collective::all_gather, 1, others * r.shard * bytes_of(r.type));
        }
      });
      break;
    case operation_kind::gather_sums:
      for_ranges([&](unit_range const& r) {
        if (!r.frozen) {
          add_wire(t,
                   collective::all_gather,
                   1,
                   others * r.shard * accumulator_bytes(plan.config, r.type));
        }
      });
      break;
    case operation_kind::exchange: {
      auto const& r = plan.layout.ranges[static_cast<std::size_t>(op.range)];
      auto const wire = wire_bytes(plan.config, r.type, op.has(flag_wide));
      add_wire(t, collective::all_to_others, 1, others * (op.piece_end - op.piece_begin) * wire);
      break;
    }
    case operation_kind::reduce_scatter:
      for_ranges([&](unit_range const& r) {
        if (!r.frozen) {
          add_wire(t,
                   collective::reduce_scatter,
                   1,
                   others * r.shard * wire_bytes(plan.config, r.type, op.has(flag_wide)));
        }
      });
      break;
    case operation_kind::agree:
      add_wire(t, collective::all_gather, 1, others * agree_record_bytes);
      break;
    default:
      break;
  }
}

}  // namespace detail

/// Collectives and bytes that one rank sends when it runs `s`, by the printed schedule. Compare
/// with the communicator's own counters.
[[nodiscard]] constexpr traffic wire_of(execution_plan const& plan, segment const& s) {
  traffic t;
  for (auto const& op : s.operations) {
    detail::add_operation(t, plan, op);
  }
  return t;
}

}  // namespace zero::inline ZERO_ABI
