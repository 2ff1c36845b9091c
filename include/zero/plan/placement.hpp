// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>
#include <zero/version.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace zero::inline ZERO_ABI {

/// The ranks that share something out among them: each holds an equal part of it.
enum class group : std::uint8_t {
  none,    ///< nobody: each rank holds all of it
  world,   ///< all ranks
  node,    ///< the ranks of one host; not planned yet
  across,  ///< the ranks of the same place in each host; not planned yet
};

/// A kind of memory.
enum class tier : std::uint8_t {
  device,  ///< of the device that computes
  host,    ///< of the host, pinned; not planned yet
  disk,    ///< files; not planned yet
  user,    ///< the user's own; not planned yet
};

/// Number of enumerators of `tier`.
inline constexpr int tier_count = 4;

/// Name of a tier for messages, reports and printed plans.
[[nodiscard]] constexpr char const* name(tier t) {
  constexpr std::array<char const*, tier_count> names{"device", "host", "disk", "user"};
  return names[static_cast<std::size_t>(t)];
}

/// Where the bytes of one kind of state of one unit live: shared out over a group, in a tier.
struct placement {
  group over = group::none;  ///< who shares it out
  tier in = tier::device;    ///< in which memory a rank keeps its part

  /// Whether a rank holds a part of it only.
  [[nodiscard]] constexpr bool sharded() const { return over != group::none; }

  friend constexpr bool operator==(placement const&, placement const&) = default;
};

/// The placements of one unit.
struct unit_placement {
  placement parameters;  ///< in their own type
  placement gradients;   ///< the accumulators
  placement state;       ///< master weights and moments

  friend constexpr bool operator==(unit_placement const&, unit_placement const&) = default;
};

/// The number of ranks of a group, of `world` in all.
/// @throws logic_error for a group that is not planned yet
[[nodiscard]] constexpr int size_of(group over, int world) {
  precondition(over == group::none || over == group::world,
               "zero::plan: parts are shared out over all ranks or not at all; use group::none or "
               "group::world");
  return over == group::world ? world : 1;
}

/// Refuses a placement that no schedule serves yet.
/// @throws logic_error for a group beyond `world`, or a tier beyond `device`
constexpr void expect_planned(placement const& p) {
  static_cast<void>(size_of(p.over, 1));
  precondition(p.in == tier::device,
               "zero::plan: this version keeps everything in the memory of the device; use "
               "tier::device");
}

/// What a stage means for a unit (ZeRO, Rajbhandari et al. 2020, section 5). The only reader of a
/// stage's number: all else follows from the placements.
/// @param stage     0 to 3
/// @param resident  the unit's parameters stay whole on every rank
/// @param world     ranks; one alone shares nothing out
[[nodiscard]] constexpr unit_placement place_unit(int stage, bool resident, int world) {
  auto const over = [&](bool shared) {
    return placement{shared && world > 1 ? group::world : group::none, tier::device};
  };
  return {over(stage >= 3 && !resident), over(stage >= 2), over(stage >= 1)};
}

}  // namespace zero::inline ZERO_ABI
