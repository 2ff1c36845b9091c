// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/version.hpp>

#include <cstdint>

namespace zero::inline ZERO_ABI {

/// Settings of the schedule: they change when and in what portions bytes move, and which parameters
/// stay whole, but with `Reduction<Ordered>` no number. Part of an engine's options and of a plan's
/// configuration; every rank must choose the same, and construction compares them.
struct schedule_options {
  int prefetch_units = 1;  ///< `Stage<3>`: gathers issued ahead of the open unit, in units, 0 to
                           ///< 1024
  std::int64_t piece_bytes = std::int64_t{32} << 20;  ///< `Reduction<Ordered>`: most bytes that a
                                                      ///< rank receives in a piece, two of which
                                                      ///< are kept; at least 1, and less than 2048
                                                      ///< elements of each other rank act as those
  std::int64_t residency_bytes = std::int64_t{16} << 10;  ///< parameters up to this many bytes are
                                                          ///< one unit more, which stays whole on
                                                          ///< every rank in `Stage<3>`
  bool gather_tied = false;  ///< `Stage<3>`: gather units that a pass visits twice each time,
                             ///< instead of keeping them whole

  friend constexpr bool operator==(schedule_options const&, schedule_options const&) = default;
};

}  // namespace zero::inline ZERO_ABI
