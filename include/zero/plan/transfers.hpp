// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/core/traffic.hpp>
#include <zero/plan/config.hpp>
#include <zero/plan/control.hpp>
#include <zero/plan/layout.hpp>
#include <zero/plan/operation.hpp>
#include <zero/plan/pieces.hpp>
#include <zero/plan/placement.hpp>
#include <zero/plan/places.hpp>
#include <zero/plan/plan.hpp>
#include <zero/version.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace zero::inline ZERO_ABI {

/// One collective of an operation: what moves, among whom, from where to where.
struct transfer {
  collective kind = collective::all_gather;  ///< which of the communicator's calls
  group over = group::world;                 ///< the ranks that take part
  place from{};                              ///< the rank's own contribution
  place to{};                                ///< where the result arrives
  std::int64_t bytes = 0;    ///< of one rank's part: what it sends to each of the others
  std::int64_t stride = 0;   ///< exchange: bytes from one rank's part to the next one's, at `from`
  dtype type = dtype::fp32;  ///< of the elements, which a reduce-scatter adds
  double prescale = 1;       ///< a reduce-scatter multiplies each contribution by it before adding
};

/// The collectives of one operation: one for each range that it moves.
struct transfer_list {
  static constexpr std::size_t max_transfers = 6;  ///< ranges of a unit: three types, two fates

  std::array<transfer, max_transfers> list{};  ///< the first `count` are set
  int count = 0;                               ///< 0 for operations that move nothing

  /// Appends a transfer.
  constexpr void add(transfer const& t) { list[static_cast<std::size_t>(count++)] = t; }

  /// The first transfer.
  [[nodiscard]] constexpr transfer const* begin() const { return list.data(); }

  /// One past the last.
  [[nodiscard]] constexpr transfer const* end() const { return list.data() + count; }
};

/// What the communicator's own sum multiplies each contribution by. FP16 sums of many ranks would
/// leave the range of FP16 early, so contributions are averaged there. The sum that takes over the
/// result undoes it, see `undone_scale`; FP32 accumulators that travel need no such room.
[[nodiscard]] constexpr double prescale_of(plan_config const& config, bool wide) {
  bool const averages = config.averages_on_wire && (!wide || config.native_accumulate);
  return averages ? 1.0 / config.world : 1.0;
}

/// What the sum after a reduce-scatter multiplies the result by. FP32 accumulators hold the sum
/// over the ranks, in every stage. Accumulators in the type of the parameters have no more room
/// than the wire and keep the mean, in every stage too: see `kept_divisor`.
[[nodiscard]] constexpr double undone_scale(plan_config const& config) {
  return config.averages_on_wire && !config.native_accumulate ? config.world : 1.0;
}

/// What the sums over the ranks are divided by in the accumulators of all units, in every stage:
/// the number of ranks where they keep the mean, 1 where they keep the sum.
[[nodiscard]] constexpr double kept_divisor(plan_config const& config) {
  return config.averages_on_wire && config.native_accumulate ? config.world : 1.0;
}

/// Where the gradients of a range are that an operation reduces: in a slot, or in the accumulators.
[[nodiscard]] constexpr place reduced_gradients(rank_places const& places,
                                                operation const& op,
                                                unit_range const& range) {
  return op.has(flag_wide) ? places.held_accumulators(range)
                           : places.gradient_slot(op.gradient_slot) + range.gradient_slot_offset;
}

/// The collectives of an operation, as one rank sees them: the only place that says what they move.
/// The bodies make these calls, and bytes on the wire, pools that have to be registered and printed
/// plans are read off them. No allocation. `sum` moves nothing by itself: where it reads the other
/// ranks' memory, it does what the exchange before it would have done.
[[nodiscard]] constexpr transfer_list transfers_of(rank_places const& places, operation const& op) {
  auto const& plan = places.plan();
  auto const& layout = plan.layout;
  transfer_list result;
  if (plan.config.world == 1) {
    return result;  // a rank alone has all it needs where it needs it
  }
  bool const wide = op.has(flag_wide);
  auto const for_ranges = [&](bool trained_only, auto make) {
    for (auto const& range : layout.ranges_of(layout.unit(op.unit))) {
      if (!(trained_only && range.frozen)) {
        result.add(make(range));
      }
    }
  };
  switch (op.kind) {
    case operation_kind::gather: {
      auto const slot = places.parameter_slot(op.parameter_slot);
      for_ranges(false, [&](unit_range const& r) {
        return transfer{.kind = collective::all_gather,
                        .over = layout.unit_of(r).in.parameters.over,
                        .from = places.shard_parameters(r),
                        .to = slot + r.parameter_slot_offset,
                        .bytes = r.shard() * bytes_of(r.type),
                        .type = r.type};
      });
      break;
    }
    case operation_kind::publish:
      for_ranges(true, [&](unit_range const& r) {
        return transfer{.kind = collective::all_gather,
                        .over = layout.unit_of(r).in.state.over,
                        .from = places.shard_parameters(r),
                        .to = places.held_parameters(r),
                        .bytes = r.shard() * bytes_of(r.type),
                        .type = r.type};
      });
      break;
    case operation_kind::gather_sums:
      for_ranges(true, [&](unit_range const& r) {
        return transfer{.kind = collective::all_gather,
                        .from = places.shard_accumulators(r),
                        .to = places.held_accumulators(r),
                        .bytes = r.shard() * accumulator_bytes(plan.config, r.type),
                        .type = accumulator_type(plan.config, r.type)};
      });
      break;
    case operation_kind::exchange: {
      auto const& r = layout.range(op.range);
      auto const width = wire_bytes(plan.config, r.type, wide);
      result.add({.kind = collective::all_to_others,
                  .from = reduced_gradients(places, op, r) + op.piece_begin * width,
                  .to = places.receive(op.receive),
                  .bytes = (op.piece_end - op.piece_begin) * width,
                  .stride = r.shard() * width,
                  .type = wire_type(plan.config, r.type, wide)});
      break;
    }
    case operation_kind::reduce_scatter:
      for_ranges(true, [&](unit_range const& r) {
        auto const buffer = reduced_gradients(places, op, r);
        return transfer{.kind = collective::reduce_scatter,
                        .from = buffer,
                        .to = buffer,
                        .bytes = r.shard() * wire_bytes(plan.config, r.type, wide),
                        .type = wire_type(plan.config, r.type, wide),
                        .prescale = prescale_of(plan.config, wide)};
      });
      break;
    case operation_kind::agree:
      result.add({.kind = collective::all_gather,
                  .from = places.record(places.rank()),
                  .to = places.record(0),
                  .bytes = agree_record_bytes});
      break;
    case operation_kind::acquire:
    case operation_kind::release:
    case operation_kind::accumulate:
    case operation_kind::sum:
    case operation_kind::norm:
    case operation_kind::update:
      break;
  }
  return result;
}

}  // namespace zero::inline ZERO_ABI
