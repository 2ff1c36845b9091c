// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/detail/peer_board.hpp>

#include <cstdint>

namespace zero::detail {

/// What a rank's stream does to meet the others, in order: raises its flag with each of them,
/// awaits theirs, and clears these for the next time.
enum class meeting_act : std::uint8_t { raise, await, clear };

/// Calls `f(act, owner, from)` for each act of rank `rank` of `ranks`: on the flag that rank `from`
/// raises for rank `owner`.
///
/// A collective meets twice, at `peer_board::place::begin` and at `end`, whose flags are distinct.
/// So a rank that raises a flag again knows that the last time is over: it has seen the owner come
/// to the other place since, and the owner cleared the flag before. Values need not grow, and the
/// same acts may be replayed by a graph. (At `read` the other place is the end of the kernel.)
template <class F>
constexpr void for_each_act(int rank, int ranks, F&& f) {
  for (int i = 1; i < ranks; ++i) {
    f(meeting_act::raise, (rank + i) % ranks, rank);
  }
  for (int i = 1; i < ranks; ++i) {
    f(meeting_act::await, rank, (rank + i) % ranks);
  }
  for (int i = 1; i < ranks; ++i) {
    f(meeting_act::clear, rank, (rank + i) % ranks);
  }
}

}  // namespace zero::detail
