// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/model/program.hpp>
#include <zero/plan/config.hpp>
#include <zero/plan/control.hpp>
#include <zero/plan/layout.hpp>
#include <zero/plan/schedule.hpp>
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

/// Bytes of the pools of one rank, and where slots and receive buffers start.
struct pool_plan {
  std::array<std::int64_t, pool_count> bytes{};      ///< as allocated
  std::array<std::int64_t, pool_count> formula{};    ///< closed form, padding not counted
  std::vector<std::int64_t> parameter_slots;         ///< bytes a slot, largest first
  std::vector<std::int64_t> gradient_slots;          ///< the same
  std::vector<std::int64_t> parameter_slot_offsets;  ///< bytes from the start of the pool
  std::vector<std::int64_t> gradient_slot_offsets;   ///< the same
  std::int64_t receive_bytes = 0;                    ///< of one of the two receive buffers

  /// Bytes of all pools, as allocated.
  [[nodiscard]] constexpr std::int64_t total_bytes() const {
    std::int64_t total = 0;
    for (auto const b : bytes) {
      total += b;
    }
    return total;
  }

  /// Bytes of all pools by the closed form.
  [[nodiscard]] constexpr std::int64_t formula_bytes() const {
    std::int64_t total = 0;
    for (auto const b : formula) {
      total += b;
    }
    return total;
  }
};

namespace detail {

constexpr std::vector<std::int64_t> offsets_of(std::vector<std::int64_t> const& sizes) {
  std::vector<std::int64_t> out;
  std::int64_t at = 0;
  for (auto const size : sizes) {
    out.push_back(at);
    at += size;
  }
  return out;
}

/// For each slot, the payload of the unit with the most of it: the slot's closed form.
constexpr std::int64_t slot_formula(slot_plan const& plan,
                                    std::vector<std::int64_t> const& payload_of_unit) {
  std::vector<std::int64_t> most(plan.slot_bytes.size(), std::int64_t{0});
  for (auto const& interval : plan.intervals) {
    auto& slot = most[static_cast<std::size_t>(interval.slot)];
    slot = std::max(slot, payload_of_unit[static_cast<std::size_t>(interval.unit)]);
  }
  std::int64_t total = 0;
  for (auto const m : most) {
    total += m;
  }
  return total;
}

}  // namespace detail

/// Bytes of every pool of one rank. `segments` is the number of update segments of the model.
[[nodiscard]] constexpr pool_plan make_pools(model_plan_layout const& layout,
                                             program const& program,
                                             std::int64_t segments,
                                             plan_config const& config) {
  pool_plan pools;
  auto at = [](pool p) { return static_cast<std::size_t>(p); };
  auto const world = std::int64_t{config.world};
  auto share = [&](std::int64_t elements, bool sharded) {
    return sharded ? (elements + world - 1) / world : elements;
  };
  std::int64_t piece = 0;
  std::vector<std::int64_t> parameter_payload;
  std::vector<std::int64_t> gradient_payload;
  for (auto const& unit : layout.units) {
    parameter_payload.push_back(unit.parameter_slot_payload_bytes);
    gradient_payload.push_back(unit.gradient_slot_payload_bytes);
    for (auto r = unit.first_range; r < unit.first_range + unit.ranges; ++r) {
      auto const& range = layout.ranges[static_cast<std::size_t>(r)];
      auto const p = bytes_of(range.type);
      auto held = [&](bool sharded) { return sharded ? range.shard : range.elements; };
      pools.bytes[at(pool::parameters)] += held(unit.parameters_sharded) * p;
      pools.formula[at(pool::parameters)] += share(range.payload, unit.parameters_sharded) * p;
      if (range.frozen) {
        continue;
      }
      auto const g = accumulator_bytes(config, range.type);
      auto const k = state_bytes(config, range.type);
      pools.bytes[at(pool::gradients)] += held(unit.gradients_sharded) * g;
      pools.formula[at(pool::gradients)] += share(range.payload, unit.gradients_sharded) * g;
      pools.bytes[at(pool::optimizer)] += held(unit.optimizer_sharded) * k;
      pools.formula[at(pool::optimizer)] += share(range.payload, unit.optimizer_sharded) * k;
      if (world > 1 && !config.native_reduction) {
        // wide exchanges (stages 0 and 1) may happen in any run with several micro-steps
        auto const wire = std::max(p, unit.gradients_sharded ? p : g);
        for (auto const w : {p, wire}) {
          auto const elements = std::min(range.shard, piece_elements(config, w));
          piece = std::max(piece, (world - 1) * w * elements);
        }
      }
    }
  }
  auto const tokens = tokens_of(program, true);
  auto const parameter_slots = plan_parameter_slots(layout, tokens, config);
  auto const gradient_slots = plan_gradient_slots(layout, tokens);
  pools.parameter_slots = parameter_slots.slot_bytes;
  pools.gradient_slots = gradient_slots.slot_bytes;
  pools.parameter_slot_offsets = detail::offsets_of(pools.parameter_slots);
  pools.gradient_slot_offsets = detail::offsets_of(pools.gradient_slots);
  for (auto const b : pools.parameter_slots) {
    pools.bytes[at(pool::parameter_slots)] += b;
  }
  for (auto const b : pools.gradient_slots) {
    pools.bytes[at(pool::gradient_slots)] += b;
  }
  pools.formula[at(pool::parameter_slots)] =
      detail::slot_formula(parameter_slots, parameter_payload);
  pools.formula[at(pool::gradient_slots)] = detail::slot_formula(gradient_slots, gradient_payload);
  pools.receive_bytes = piece;
  pools.bytes[at(pool::receive)] = 2 * piece;
  pools.formula[at(pool::receive)] = 2 * piece;
  pools.bytes[at(pool::control)] = make_control_layout(layout, segments, config).bytes;
  return pools;
}

}  // namespace zero::inline ZERO_ABI
