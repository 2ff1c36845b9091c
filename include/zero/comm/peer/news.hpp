// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/detail/local_text.hpp>
#include <zero/comm/peer/detail/board.hpp>
#include <zero/core/error.hpp>
#include <zero/version.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

namespace zero::inline ZERO_ABI {

/// What the ranks of one host tell each other of how they end, beside the communicator that knows
/// them all: who has failed and of what, who has left, whose process is gone.
///
/// Whoever watches over a rank of a `peer_base` hears and tells it here. One watching thread;
/// `any_failed` and `hear` may be called by any thread.
class peer_news {
 public:
  /// The clock of `gone_for_long`.
  using clock = std::chrono::steady_clock;

  /// For how long a rank may be gone before others that want it fail. What it has called before it
  /// left has ended everywhere by then.
  static constexpr std::chrono::nanoseconds grace = std::chrono::seconds(5);

  /// @param board where the ranks of the host write; stays alive meanwhile
  explicit peer_news(detail::peer_board& board) noexcept
      : board_(&board) {}

  // --- what the others say -----------------------------------------------------------------------

  /// Whether any rank of the host has failed, this one included. One atomic read.
  [[nodiscard]] bool any_failed() const noexcept { return board_->any_failed(); }

  /// Calls `fail(std::exception_ptr, int origin, std::string why)` when another rank has failed:
  /// with a `peer_error`, the rank that failed by itself, and its reason.
  /// @param step,unit,operation where this rank is
  template <class Fail>
  void hear(std::int64_t step, char const* unit, char const* operation, Fail&& fail) const {
    if (auto const failure = board_->failure_of_another()) {
      peer_error const error(
          "rank " + std::to_string(failure->origin) + " has failed: " + failure->why,
          failure->origin,
          step,
          unit,
          operation);
      fail(std::make_exception_ptr(error), failure->origin, failure->why);
    }
  }

  /// Expects that every other rank's process lives, or has said how it ended. A system call a rank.
  /// @param here where this rank waits for the others
  /// @throws peer_error a process has ended without a word
  void expect_no_death(detail::local_place const& here) const {
    int const dead = board_->dead_other();
    if (dead >= 0) {
      throw_missing(here,
                    dead,
                    "the process of rank " + std::to_string(dead) + " has ended; rank " +
                        std::to_string(board_->rank()) + " was at " + detail::at(here));
    }
  }

  /// A rank that makes no more calls, once that has been known for `grace`; -1: there is none.
  [[nodiscard]] int gone_for_long(clock::time_point now) noexcept {
    int const gone = board_->left_other();
    if (gone < 0) {
      return -1;
    }
    gone_since_ = std::min(gone_since_, now);
    return now - gone_since_ >= grace ? gone : -1;
  }

  /// Fails because this rank still wants one that has left.
  /// @param here where this rank waits for it
  /// @throws peer_error
  [[noreturn]] void throw_departure(detail::local_place const& here, int gone) const {
    throw_missing(here,
                  gone,
                  "rank " + std::to_string(gone) + " has left, but rank " +
                      std::to_string(board_->rank()) + " is at " + detail::at(here));
  }

  // --- what this rank says -----------------------------------------------------------------------

  /// This rank has failed, by itself or because rank `origin` has. The first reason stays.
  void tell(int origin, std::string_view why) noexcept { board_->fail(origin, why); }

  /// Lets go all devices that await another rank's. @pre `tell`, so that nobody believes what they
  /// do then
  void release() noexcept { board_->release(); }

  /// This rank makes no more calls; those that it has made have ended. May be said again.
  void leave() noexcept { board_->leave(); }

 private:
  [[noreturn]] static void throw_missing(detail::local_place const& here,
                                         int rank,
                                         std::string const& reason) {
    throw peer_error(reason, rank, here.tag.step, here.unit.data(), here.operation.data());
  }

  detail::peer_board* board_;
  clock::time_point gone_since_ = clock::time_point::max();  // the watching thread's
};

}  // namespace zero::inline ZERO_ABI
