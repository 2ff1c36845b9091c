// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/core/error.hpp>
#include <zero/core/limits.hpp>
#include <zero/core/norm.hpp>
#include <zero/model/parameter.hpp>
#include <zero/model/program.hpp>
#include <zero/plan/config.hpp>
#include <zero/plan/placement.hpp>
#include <zero/version.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace zero::inline ZERO_ABI {

/// Shard borders are multiples of this many elements, so that a shard starts at a 512-byte border
/// of a 16-bit range whatever the number of ranks.
inline constexpr std::int64_t shard_granule_elements = 256;

/// Each parameter starts at a multiple of this many bytes inside its range.
inline constexpr std::int64_t parameter_alignment_bytes = 256;

/// The elements of one unit that have one type and one fate: a contiguous flat range, padded with
/// zeros to `world` equal shards, moved by one collective. A unit has at most one range for each
/// pair (element type, frozen or trained).
struct unit_range {
  dtype type = dtype::fp32;   ///< of the elements
  bool frozen = false;        ///< not trained
  std::int32_t unit = 0;      ///< that it belongs to
  std::int64_t payload = 0;   ///< elements of the parameters themselves, padding not counted
  std::int64_t elements = 0;  ///< with padding: a shard for each rank of the world
  std::int32_t world = 1;     ///< how many those are
  std::int64_t parameter_offset = 0;    ///< bytes, in the pool of parameters
  std::int64_t accumulator_offset = 0;  ///< bytes, in the pool of gradients (trained ranges)
  std::int64_t state_offset = 0;        ///< bytes, in the pool of optimizer state (trained ranges)
  std::int64_t parameter_slot_offset = 0;  ///< bytes, from the start of the unit's parameter slot
  std::int64_t gradient_slot_offset = 0;   ///< bytes, from the start of the unit's gradient slot
  std::int64_t first_block = 0;  ///< index of the shard's first norm block (trained ranges)

  /// Elements that one rank of a group has of the range: an equal part, a multiple of 256.
  [[nodiscard]] constexpr std::int64_t shard(group over = group::world) const {
    return elements / size_of(over, world);
  }

  /// The first of the elements that rank `rank` has of the range.
  [[nodiscard]] constexpr std::int64_t shard_begin(int rank, group over = group::world) const {
    return over == group::none ? 0 : rank * shard(over);
  }
};

/// A unit: the ranges gathered and reduced together, and where their bytes live.
struct unit_layout {
  std::int32_t first_range = 0;           ///< index of its first range
  std::int32_t ranges = 0;                ///< how many follow one another
  bool trained = false;                   ///< has a trained range
  bool resident = false;                  ///< its parameters are whole on every rank
  unit_placement in;                      ///< what a rank holds, accumulates and updates
  std::int64_t parameter_slot_bytes = 0;  ///< of the whole unit, gathered
  std::int64_t gradient_slot_bytes = 0;   ///< of its trained ranges, in the parameters' types
  std::int64_t parameter_slot_payload_bytes = 0;  ///< the same without padding
  std::int64_t gradient_slot_payload_bytes = 0;   ///< the same without padding
};

/// Where one parameter lies: an offset in elements inside a range. The range's unit is the unit
/// that carries the bytes: the parameter's own, or the resident one.
struct parameter_place {
  std::int32_t range = -1;  ///< -1 for a parameter of no elements
  std::int64_t offset = 0;  ///< in elements
};

/// Units, ranges and shards: all that follows from the model, the program and the number of ranks,
/// before any schedule. Units, their order and the shard borders never depend on the stage.
struct model_plan_layout {
  std::vector<unit_layout> units;  ///< the model's units in order, then the resident unit if any
  std::vector<unit_range> ranges;  ///< grouped by unit
  std::vector<parameter_place> places;  ///< one a parameter, in the model's order
  std::int32_t model_units = 0;         ///< units that user code opens
  std::int32_t resident_unit = -1;      ///< index of the unit of resident parameters, or -1
  std::int64_t norm_blocks = 0;  ///< blocks of the squared norm in one rank's (virtual) shard
  std::int64_t elements = 0;     ///< of all ranges, with padding; at most `max_elements`

  /// A unit by its index.
  [[nodiscard]] constexpr unit_layout const& unit(std::int32_t index) const {
    return units[static_cast<std::size_t>(index)];
  }

  /// A range by its index.
  [[nodiscard]] constexpr unit_range const& range(std::int32_t index) const {
    return ranges[static_cast<std::size_t>(index)];
  }

  /// The ranges of a unit.
  [[nodiscard]] constexpr std::span<unit_range const> ranges_of(unit_layout const& unit) const {
    return {ranges.data() + unit.first_range, static_cast<std::size_t>(unit.ranges)};
  }

  /// The unit that a range belongs to.
  [[nodiscard]] constexpr unit_layout const& unit_of(unit_range const& range) const {
    return unit(range.unit);
  }

  /// Whether there is a unit of resident parameters, and it is trained.
  [[nodiscard]] constexpr bool trains_residents() const {
    return resident_unit >= 0 && unit(resident_unit).trained;
  }
};

namespace detail {

[[nodiscard]] constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Refuses counts of elements whose bytes could need more than 63 bits.
constexpr void expect_countable(std::int64_t elements) {
  precondition(
      elements >= 0 && elements <= max_elements,
      "zero::plan: more than 2^48 elements, padding included; their bytes would not be counted "
      "right in 63 bits. Use smaller shapes.");
}

/// Units that one phase of a pass opens more than once.
[[nodiscard]] constexpr std::vector<char> tied_units(program const& program, std::int32_t units) {
  std::vector<char> tied(static_cast<std::size_t>(units), char{0});
  for (auto const* tokens : {&program.forward, &program.backward}) {
    std::vector<char> seen(static_cast<std::size_t>(units), char{0});
    for (auto const& token : *tokens) {
      if (token.open) {
        auto const unit = static_cast<std::size_t>(token.unit);
        tied[unit] = static_cast<char>(tied[unit] | seen[unit]);
        seen[unit] = 1;
      }
    }
  }
  return tied;
}

/// Puts one parameter of `width` bytes an element into the range of its type and fate in the unit
/// that is being built.
constexpr void place_parameter(model_plan_layout& layout,
                               unit_layout& unit,
                               parameter const& p,
                               std::int64_t width,
                               parameter_place& place) {
  auto* range = layout.ranges.data() + unit.first_range;
  auto at = unit.first_range;
  auto const end = unit.first_range + unit.ranges;
  while (at < end && (range->type != p.type || range->frozen != p.traits.frozen)) {
    ++at;
    ++range;
  }
  if (at == end) {
    unit_range fresh;
    fresh.type = p.type;
    fresh.frozen = p.traits.frozen;
    fresh.unit = static_cast<std::int32_t>(layout.units.size());
    layout.ranges.push_back(fresh);
    range = layout.ranges.data() + at;
    ++unit.ranges;
  }
  expect_countable(p.elements);
  auto const granule = parameter_alignment_bytes / width;
  place.range = at;
  place.offset = (range->elements + granule - 1) / granule * granule;
  range->elements = place.offset + p.elements;
  expect_countable(range->elements);
  range->payload += p.elements;
}

/// Pads the ranges of a unit to whole shards and appends it to the layout.
constexpr void finish_unit(model_plan_layout& layout, unit_layout unit, plan_config const& config) {
  auto const world = std::int64_t{config.world};
  auto* range = layout.ranges.data() + unit.first_range;
  for (auto* const end = range + unit.ranges; range != end; ++range) {
    expect_countable(range->elements);
    range->world = config.world;
    range->elements =
        round_up((range->elements + world - 1) / world, shard_granule_elements) * world;
    layout.elements += range->elements;
    expect_countable(layout.elements);
    range->parameter_slot_offset = unit.parameter_slot_bytes;
    unit.parameter_slot_bytes += range->elements * bytes_of(range->type);
    unit.parameter_slot_payload_bytes += range->payload * bytes_of(range->type);
    if (!range->frozen) {
      unit.trained = true;
      range->gradient_slot_offset = unit.gradient_slot_bytes;
      unit.gradient_slot_bytes += range->elements * bytes_of(range->type);
      unit.gradient_slot_payload_bytes += range->payload * bytes_of(range->type);
      range->first_block = layout.norm_blocks;
      layout.norm_blocks += zero::norm_blocks(range->shard());
    }
  }
  layout.units.push_back(unit);
}

/// Says where the bytes of each unit live, and where in the pools each range starts.
constexpr void place_units(model_plan_layout& layout,
                           program const& program,
                           plan_config const& config) {
  auto const tied = tied_units(program, layout.model_units);
  using ends = std::array<std::int64_t, tier_count>;  // of what lies in a tier so far
  ends parameters{};
  ends accumulators{};
  ends states{};
  auto const append = [](ends& all, tier in, std::int64_t bytes) {
    auto& end = all[static_cast<std::size_t>(in)];
    auto const start = end;
    end += bytes;
    return start;
  };
  for (std::int32_t u = 0; u < static_cast<std::int32_t>(layout.units.size()); ++u) {
    auto& unit = layout.units[static_cast<std::size_t>(u)];
    unit.resident =
        unit.resident || (u < layout.model_units && tied[static_cast<std::size_t>(u)] != 0 &&
                          !config.schedule.gather_tied);
    unit.in = place_unit(config.stage_of(u), unit.resident, config.world);
    for (auto const& p : {unit.in.parameters, unit.in.gradients, unit.in.state}) {
      expect_planned(p);
    }
    auto* range = layout.ranges.data() + unit.first_range;
    for (auto* const end = range + unit.ranges; range != end; ++range) {
      range->parameter_offset =
          append(parameters,
                 unit.in.parameters.in,
                 range->shard(unit.in.parameters.over) * bytes_of(range->type));
      if (!range->frozen) {
        range->accumulator_offset =
            append(accumulators,
                   unit.in.gradients.in,
                   range->shard(unit.in.gradients.over) * accumulator_bytes(config, range->type));
        range->state_offset =
            append(states,
                   unit.in.state.in,
                   state_layout_of(config, range->type).bytes(range->shard(unit.in.state.over)));
      }
    }
  }
}

}  // namespace detail

/// Lays a model out: which parameters are resident, the ranges of each unit, their padding and
/// shard borders, the place of each parameter, and offsets in the pools. Linear in the parameters.
/// @pre `config.world >= 1`, stages from 0 to 3
/// @throws logic_error for more than `max_elements` elements
[[nodiscard]] constexpr model_plan_layout make_layout(std::vector<parameter> const& parameters,
                                                      std::int32_t units,
                                                      program const& program,
                                                      plan_config const& config) {
  model_plan_layout layout;
  layout.model_units = units;
  layout.places = std::vector<parameter_place>(parameters.size(), parameter_place{});
  layout.units.reserve(static_cast<std::size_t>(units) + 1);
  layout.ranges.reserve(static_cast<std::size_t>(units) + 1);
  auto const* const all = parameters.data();
  auto const count = static_cast<std::int64_t>(parameters.size());
  auto* const places = layout.places.data();
  bool any_resident = false;
  std::int64_t next = 0;
  for (std::int32_t u = 0; u < units; ++u) {
    unit_layout unit;
    unit.first_range = static_cast<std::int32_t>(layout.ranges.size());
    for (; next < count && all[next].unit == u; ++next) {
      auto const& p = all[next];
      auto const width = p.type == dtype::fp32 ? std::int64_t{4} : std::int64_t{2};
      if (p.traits.resident || p.elements <= config.schedule.residency_bytes / width) {
        any_resident = any_resident || p.elements > 0;
      } else if (p.elements > 0) {
        detail::place_parameter(layout, unit, p, width, places[next]);
      }
    }
    detail::finish_unit(layout, unit, config);
  }
  if (any_resident) {
    unit_layout unit;
    unit.first_range = static_cast<std::int32_t>(layout.ranges.size());
    unit.resident = true;
    for (std::int64_t i = 0; i < count; ++i) {
      if (places[i].range < 0 && all[i].elements > 0) {
        detail::place_parameter(layout, unit, all[i], bytes_of(all[i].type), places[i]);
      }
    }
    layout.resident_unit = units;
    detail::finish_unit(layout, unit, config);
  }
  detail::place_units(layout, program, config);
  return layout;
}

}  // namespace zero::inline ZERO_ABI
