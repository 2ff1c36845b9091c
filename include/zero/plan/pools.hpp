// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/plan/config.hpp>
#include <zero/plan/control.hpp>
#include <zero/plan/layout.hpp>
#include <zero/plan/pieces.hpp>
#include <zero/plan/placement.hpp>
#include <zero/plan/slot_plan.hpp>
#include <zero/version.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace zero::inline ZERO_ABI {

/// Purpose of a pool. A pool is one allocation in one memory tier.
enum class pool : std::uint8_t {
  parameters,       ///< what the rank holds: all of it, or its shards
  gradients,        ///< accumulators
  optimizer,        ///< master weights and moments
  parameter_slots,  ///< gathered parameters (stage 3)
  gradient_slots,   ///< gradients of open units
  receive,          ///< two pieces of the ordered reduction, the other ranks' parts of each
  control,          ///< norm blocks, records, decision, tables
};

/// Number of pools.
inline constexpr int pool_count = 7;

/// Name of a pool for messages, reports and printed plans.
[[nodiscard]] constexpr char const* name(pool p) {
  constexpr std::array<char const*, pool_count> names{"parameters",
                                                      "gradients",
                                                      "optimizer",
                                                      "parameter_slots",
                                                      "gradient_slots",
                                                      "receive",
                                                      "control"};
  return names[static_cast<std::size_t>(p)];
}

/// One row of the table of pools: the bytes of one purpose in one tier.
struct pool_row {
  pool purpose = pool::parameters;  ///< what it is for
  tier in = tier::device;           ///< in which memory
  std::int64_t bytes = 0;           ///< as allocated
  std::int64_t formula = 0;         ///< closed form, padding not counted

  friend constexpr bool operator==(pool_row const&, pool_row const&) = default;
};

/// Rows of the table of pools: every purpose in the device, then in the next tier, and so on.
inline constexpr int pool_rows = pool_count * tier_count;

/// The pools of one rank, as a table.
struct pool_plan {
  std::array<pool_row, pool_rows> rows{};  ///< by tier, then by purpose
  std::int64_t receive_bytes = 0;          ///< of one of the two receive buffers

  /// Where in the table the row of a purpose in a tier stands.
  [[nodiscard]] static constexpr std::size_t index(pool purpose, tier in) {
    return static_cast<std::size_t>(in) * pool_count + static_cast<std::size_t>(purpose);
  }

  /// The row of a purpose in a tier.
  [[nodiscard]] constexpr pool_row const& row(pool purpose, tier in = tier::device) const {
    return rows[index(purpose, in)];
  }

  /// The same, to be changed.
  [[nodiscard]] constexpr pool_row& row(pool purpose, tier in = tier::device) {
    return rows[index(purpose, in)];
  }

  /// Bytes of all pools of a tier, as allocated.
  [[nodiscard]] constexpr std::int64_t bytes(tier in) const {
    std::int64_t total = 0;
    for (auto const& r : rows) {
      total += r.in == in ? r.bytes : 0;
    }
    return total;
  }

  /// Bytes of all pools by the closed form, in all tiers.
  [[nodiscard]] constexpr std::int64_t formula_bytes() const {
    std::int64_t total = 0;
    for (auto const& r : rows) {
      total += r.formula;
    }
    return total;
  }

  friend constexpr bool operator==(pool_plan const&, pool_plan const&) = default;
};

namespace detail {

/// A table of pools without bytes.
[[nodiscard]] constexpr pool_plan empty_pools() {
  pool_plan pools;
  for (int t = 0; t < tier_count; ++t) {
    for (int p = 0; p < pool_count; ++p) {
      auto& row = pools.row(static_cast<pool>(p), static_cast<tier>(t));
      row.purpose = static_cast<pool>(p);
      row.in = static_cast<tier>(t);
    }
  }
  return pools;
}

/// For each slot, the payload of the unit with the most of it: the slot's closed form.
/// @param payload  the member of `unit_layout` that says it
constexpr std::int64_t slot_formula(slot_plan const& plan,
                                    model_plan_layout const& layout,
                                    std::int64_t unit_layout::* payload) {
  std::vector<std::int64_t> most(plan.slot_bytes.size(), std::int64_t{0});
  for (auto const& interval : plan.intervals) {
    auto& slot = most[static_cast<std::size_t>(interval.slot)];
    slot = std::max(slot, layout.unit(interval.unit).*payload);
  }
  std::int64_t total = 0;
  for (auto const m : most) {
    total += m;
  }
  return total;
}

/// Adds a range's part of one kind of state to its row: `bytes_for(n)` bytes for n elements.
template <class BytesFor>
constexpr void add_range(pool_plan& pools,
                         pool purpose,
                         placement const& where,
                         unit_range const& range,
                         BytesFor bytes_for) {
  auto& row = pools.row(purpose, where.in);
  auto const ranks = std::int64_t{size_of(where.over, range.world)};
  row.bytes += bytes_for(range.shard(where.over));
  row.formula += bytes_for((range.payload + ranks - 1) / ranks);
}

}  // namespace detail

/// Bytes of every pool of one rank. `segments` is the number of update segments of the model.
[[nodiscard]] constexpr pool_plan make_pools(model_plan_layout const& layout,
                                             slot_plans const& slots,
                                             std::int64_t segments,
                                             plan_config const& config) {
  auto pools = detail::empty_pools();
  std::int64_t piece = 0;
  for (auto const& unit : layout.units) {
    for (auto const& range : layout.ranges_of(unit)) {
      auto const width = bytes_of(range.type);
      detail::add_range(pools, pool::parameters, unit.in.parameters, range, [&](std::int64_t n) {
        return n * width;
      });
      if (range.frozen) {
        continue;
      }
      auto const sums = accumulator_bytes(config, range.type);
      auto const state = state_layout_of(config, range.type);
      detail::add_range(pools, pool::gradients, unit.in.gradients, range, [&](std::int64_t n) {
        return n * sums;
      });
      detail::add_range(pools, pool::optimizer, unit.in.state, range, [&](std::int64_t n) {
        return state.bytes(n);
      });
      if (config.world > 1 && !config.native_reduction) {
        piece = std::max(piece, receive_bytes(config, range, false));
        if (!unit.in.gradients.sharded()) {  // wide: in any step with several micro-steps
          piece = std::max(piece, receive_bytes(config, range, true));
        }
      }
    }
  }
  auto const set = [&](pool purpose, std::int64_t bytes, std::int64_t formula) {
    auto& row = pools.row(purpose);
    row.bytes = bytes;
    row.formula = formula;
  };
  set(pool::parameter_slots,
      slots.parameters.bytes(),
      detail::slot_formula(slots.parameters, layout, &unit_layout::parameter_slot_payload_bytes));
  set(pool::gradient_slots,
      slots.gradients.bytes(),
      detail::slot_formula(slots.gradients, layout, &unit_layout::gradient_slot_payload_bytes));
  pools.receive_bytes = piece;
  set(pool::receive, 2 * piece, 2 * piece);
  set(pool::control, make_control_layout(layout, segments, config).bytes, 0);
  return pools;
}

}  // namespace zero::inline ZERO_ABI
