// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/peer/detail/board.hpp>
#include <zero/core/rank_order.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>

namespace zero::inline ZERO_ABI::detail {

/// Where the streams of the ranks meet.
enum class meeting_place : std::uint8_t {
  begin,  ///< of a collective: the receivers' memory may be written
  end,    ///< of that collective: the senders' bytes are there
  read    ///< the others' memory may be read, by a kernel that says itself when it has
};

/// One stream operation of a meeting, on a flag of `peer_board`.
struct meeting_act {
  enum class kind : std::uint8_t {
    write,  ///< sets the flag to `value`, behind all that the stream has written before
    await   ///< waits until the flag has the bit `value`
  };

  kind what;
  peer_board::flag flag;
  int owner;
  int from;
  std::uint32_t value;
};

/// Calls `f(meeting_act)` for what the stream of rank `rank` of `ranks` does at a place, in order.
///
/// Of two ranks each asks the other and answers: at the begin of a collective a rank writes `asked`
/// into its flag with the other, and awaits the other's question; at the end it answers that on
/// the other's flag, and awaits the answer on its own. So the ranks write a flag in turn, each
/// after it has seen what the one before wrote: none is overwritten unseen, however late it lands;
/// none has to be cleared; and values need not grow, so that a graph may replay the acts.
///
/// Before kernels that read, a rank answers at once, since what it waits for at the end is the
/// others' kernels; it awaits the answer to its own question before it asks the next time.
///
/// All meetings of a rank at one kind of flag stand in one order, the same for all ranks: a flag
/// stands for one at a time.
template <class F>
constexpr void for_each_act(meeting_place where, int rank, int ranks, F&& f) {
  using enum meeting_act::kind;
  using enum peer_board::flag;
  constexpr auto asked = peer_flag::asked;
  constexpr auto answered = peer_flag::answered;
  auto const with_others = [&](auto&& act) {
    for_each_other_rank(rank, ranks, [&](int other) { f(act(other)); });
  };
  switch (where) {
    case meeting_place::begin:
      with_others([&](int other) { return meeting_act{write, moves, other, rank, asked}; });
      with_others([&](int other) { return meeting_act{await, moves, rank, other, asked}; });
      break;
    case meeting_place::end:
      with_others([&](int other) { return meeting_act{write, moves, rank, other, answered}; });
      with_others([&](int other) { return meeting_act{await, moves, other, rank, answered}; });
      break;
    case meeting_place::read:
      with_others([&](int other) { return meeting_act{await, reads, other, rank, answered}; });
      with_others([&](int other) { return meeting_act{write, reads, other, rank, asked}; });
      with_others([&](int other) { return meeting_act{await, reads, rank, other, asked}; });
      with_others([&](int other) { return meeting_act{write, reads, rank, other, answered}; });
      break;
  }
}

/// Most acts of a rank at one place, a rank.
inline constexpr std::size_t most_acts = 4;

}  // namespace zero::inline ZERO_ABI::detail
