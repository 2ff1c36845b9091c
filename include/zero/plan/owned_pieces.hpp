// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/plan/placement.hpp>
#include <zero/plan/places.hpp>
#include <zero/plan/plan.hpp>
#include <zero/plan/state_layout.hpp>
#include <zero/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace zero::inline ZERO_ABI {

/// A stretch of elements of one parameter, in one array, that one rank has in one place.
struct owned_piece {
  std::int32_t parameter = 0;            ///< whose elements, in the model's order
  state_role role = state_role::master;  ///< its weights, or a moment of them
  std::int32_t index = 0;                ///< which moment
  std::int64_t first = 0;                ///< first element, counted in the parameter
  std::int64_t count = 0;                ///< how many; 0: the rank has none
  dtype format = dtype::fp32;            ///< of the numbers there
  group over = group::none;              ///< among whom the array is shared out; none: all have it
  place at{};                            ///< of the first one

  /// One past the last element.
  [[nodiscard]] constexpr std::int64_t end() const { return first + count; }

  friend constexpr bool operator==(owned_piece const&, owned_piece const&) = default;
};

namespace detail {

/// The part of a parameter that lies in `[begin, begin + elements)` of its range, of which the
/// first element is at `base`.
[[nodiscard]] constexpr owned_piece cut_piece(execution_plan const& plan,
                                              std::int32_t parameter,
                                              std::int64_t begin,
                                              std::int64_t elements,
                                              place const& base,
                                              dtype format) {
  auto const i = static_cast<std::size_t>(parameter);
  auto const offset = plan.layout.places[i].offset;
  auto const first = std::max(offset, begin);
  auto const end = std::min(offset + plan.parameters[i].elements, begin + elements);
  owned_piece piece;
  piece.parameter = parameter;
  piece.format = format;
  piece.first = std::max(std::int64_t{0}, begin - offset);
  piece.count = std::max(std::int64_t{0}, end - first);
  piece.at = base + (first - begin) * bytes_of(format);
  return piece;
}

/// The range of a parameter that has elements, or null.
[[nodiscard]] constexpr unit_range const* range_of(execution_plan const& plan,
                                                   std::int32_t parameter) {
  auto const range = plan.layout.places[static_cast<std::size_t>(parameter)].range;
  return range < 0 ? nullptr : &plan.layout.range(range);
}

/// The part that a rank updates, in the array that begins at `base`.
[[nodiscard]] constexpr owned_piece updated_piece(rank_places const& places,
                                                  unit_range const& range,
                                                  std::int32_t parameter,
                                                  place const& base,
                                                  dtype format) {
  auto piece = cut_piece(places.plan(),
                         parameter,
                         places.owned_begin(range),
                         places.owned_elements(range),
                         base,
                         format);
  piece.over = places.plan().layout.unit_of(range).in.state.over;
  return piece;
}

}  // namespace detail

/// What a rank holds of a parameter in the parameter's own type: all of it, or a part.
[[nodiscard]] constexpr owned_piece held_piece(rank_places const& places, std::int32_t parameter) {
  auto const& plan = places.plan();
  auto const* const range = detail::range_of(plan, parameter);
  if (range == nullptr) {
    return {.parameter = parameter};
  }
  auto const over = plan.layout.unit_of(*range).in.parameters.over;
  auto piece = detail::cut_piece(plan,
                                 parameter,
                                 range->shard_begin(places.rank(), over),
                                 range->shard(over),
                                 places.held_parameters(*range),
                                 range->type);
  piece.over = over;
  return piece;
}

/// What a rank owns of a parameter's weights: of the FP32 master, where there is one; of the
/// parameter itself, where that is FP32 or frozen.
[[nodiscard]] constexpr owned_piece weights_piece(rank_places const& places,
                                                  std::int32_t parameter) {
  auto const* const range = detail::range_of(places.plan(), parameter);
  if (range == nullptr || range->frozen) {
    return held_piece(places, parameter);
  }
  return detail::updated_piece(places, *range, parameter, places.masters(*range), dtype::fp32);
}

/// What a rank owns of moment `index` of a parameter; nothing of a frozen one, or of a moment that
/// the optimizer does not keep.
[[nodiscard]] constexpr owned_piece moment_piece(rank_places const& places,
                                                 std::int32_t parameter,
                                                 std::int32_t index) {
  auto const* const range = detail::range_of(places.plan(), parameter);
  owned_piece piece{.parameter = parameter};
  if (range != nullptr && !range->frozen) {
    auto const layout = state_layout_of(places.plan().config, range->type);
    auto const which = layout.find(state_role::moment, index);
    if (which < 0) {
      return piece;
    }
    piece = detail::updated_piece(places,
                                  *range,
                                  parameter,
                                  places.state(*range, which),
                                  layout.list[static_cast<std::size_t>(which)].format);
  }
  piece.role = state_role::moment;
  piece.index = index;
  return piece;
}

/// Calls `f(owned_piece)` for everything of a model's state that a rank owns: for each parameter,
/// in order, its weights, then its moments. Pieces of no elements are left out. The pieces of all
/// ranks together are all of the state, each element once; or, where `over` is none, each rank's
/// are. What is not in it (replicas in a 16-bit type, gradients, slots) follows from it or is
/// nobody's state.
template <class F>
constexpr void for_each_owned_piece(rank_places const& places, F&& f) {
  auto const& plan = places.plan();
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(plan.parameters.size()); ++i) {
    auto const give = [&](owned_piece const& piece) {
      if (piece.count > 0) {
        f(piece);
      }
    };
    give(weights_piece(places, i));
    for (std::int32_t m = 0; m < plan.config.moments; ++m) {
      give(moment_piece(places, i, m));
    }
  }
}

}  // namespace zero::inline ZERO_ABI
