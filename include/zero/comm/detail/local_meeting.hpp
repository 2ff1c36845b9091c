// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>
#include <zero/comm/detail/local_text.hpp>
#include <zero/core/error.hpp>
#include <zero/version.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// The place where the threads of a local world meet.
///
/// A collective is: `open` (publish my buffer, wait for all), read the others' buffers, `close`
/// (wait until all have read). Whoever waits sleeps on a condition variable. Nobody returns from a
/// call while a peer reads his buffer, not even when the world fails meanwhile. Nothing is
/// allocated between construction and the first failure.
class local_meeting {
 public:
  local_meeting(int ranks, std::chrono::milliseconds stall_limit)
      : stall_limit_(stall_limit),
        seats_(static_cast<std::size_t>(ranks)) {}

  [[nodiscard]] int size() const noexcept { return static_cast<int>(seats_.size()); }

  [[nodiscard]] std::chrono::milliseconds stall_limit() const noexcept { return stall_limit_; }

  /// What a rank brought to the present collective; to be read between `open` and `close` only.
  [[nodiscard]] local_call const& call(int rank) const noexcept { return seat_of(rank).call; }

  /// First meeting: returns when all ranks have come with matching calls.
  void open(int rank, collective_tag const& tag, local_call const& call) {
    std::unique_lock lock(mutex_);
    seat& mine = seat_of(rank);
    precondition(!mine.left, "zero::Local: this communicator has left; it takes no more calls");
    mine.call = call;
    mine.place.assign(tag, call.kind);
    if (failed_now()) {
      raise(rank);
    }
    mine.present = true;
    std::uint64_t const generation = generation_;
    if (++arrived_ == size()) {
      compare();
      if (failed_now()) {
        raise(rank);
      }
      advance();
      return;
    }
    auto const deadline = std::chrono::steady_clock::now() + stall_limit_;
    auto const over = [&] { return generation_ != generation || failed_now() || somebody_left_; };
    if (!somebody_left_) {
      changed_.wait_until(lock, deadline, over);
    }
    if (generation_ == generation && !failed_now()) {
      blame_absent(rank);
    }
    if (generation_ == generation) {
      raise(rank);
    }
  }

  /// Later meeting: returns when all ranks have read what they wanted. With `again`, buffers are
  /// read once more after it, and another `close` follows.
  void close(int rank, bool again = false) {
    std::unique_lock lock(mutex_);
    --readers_;
    std::uint64_t const generation = generation_;
    if (!failed_now() && ++arrived_ == size()) {
      advance(again);
      return;
    }
    if (readers_ == 0) {
      changed_.notify_all();
    }
    changed_.wait(lock,
                  [&] { return generation_ != generation || (failed_now() && readers_ == 0); });
    if (generation_ == generation) {
      raise(rank);
    }
  }

  /// This rank has failed: all present and later calls fail.
  void abort(int rank, std::string const& why) {
    std::lock_guard const lock(mutex_);
    local_place const& place = seat_of(rank).place;
    fail({rank, death(rank, place, why)});
    for (auto const& child : children_) {
      child->abort(rank, why);
    }
  }

  /// This rank makes no more calls. The calls it has made complete everywhere.
  void leave(int rank) {
    std::lock_guard const lock(mutex_);
    depart(rank);
    for (std::size_t i = seat_of(rank).duplicates; i < children_.size(); ++i) {
      children_[i]->forsake(rank);
    }
  }

  /// Throws the failure, if the world has failed.
  void check(int rank) const {
    if (failed_.load(std::memory_order_acquire)) {
      std::lock_guard const lock(mutex_);
      raise(rank);
    }
  }

  /// The meeting behind this rank's next duplicate: the i-th duplicates of all ranks are one world.
  [[nodiscard]] std::shared_ptr<local_meeting> duplicate(int rank) {
    std::lock_guard const lock(mutex_);
    if (failed_now()) {
      raise(rank);
    }
    std::size_t const index = seat_of(rank).duplicates;
    if (index == children_.size()) {
      auto child = std::make_shared<local_meeting>(size(), stall_limit_);
      for (int i = 0; i < size(); ++i) {
        if (seat_of(i).left) {
          child->forsake(i);
        }
      }
      children_.push_back(std::move(child));
    }
    ++seat_of(rank).duplicates;
    return children_[index];
  }

  /// Gives out the seat of a rank, once.
  void take_seat(int rank) {
    precondition(rank >= 0 && rank < size(), "zero::Local: no such rank in this world");
    std::lock_guard const lock(mutex_);
    precondition(!seat_of(rank).taken, "zero::Local: each rank has one communicator; duplicate it");
    seat_of(rank).taken = true;
  }

 private:
  struct seat {
    local_call call;
    local_place place;
    std::size_t duplicates = 0;
    bool present = false;
    bool left = false;
    bool taken = false;
  };

  struct failure {
    int rank = -1;  // -1: the ranks disagree, nobody has died
    std::string text;
  };

  [[nodiscard]] seat& seat_of(int rank) noexcept { return seats_[static_cast<std::size_t>(rank)]; }

  [[nodiscard]] seat const& seat_of(int rank) const noexcept {
    return seats_[static_cast<std::size_t>(rank)];
  }

  [[nodiscard]] bool failed_now() const noexcept {
    return failed_.load(std::memory_order_relaxed);  // written under the mutex
  }

  void advance(bool readers_follow = true) noexcept {
    arrived_ = 0;
    readers_ = readers_follow ? size() : 0;
    for (seat& s : seats_) {
      s.present = false;
    }
    ++generation_;
    changed_.notify_all();
  }

  void fail(failure f) {
    if (!failed_now()) {
      failure_ = std::move(f);
      failed_.store(true, std::memory_order_release);
    }
    changed_.notify_all();
  }

  /// The failure as `rank` learns of it.
  [[noreturn]] void raise(int rank) const {
    if (failure_.rank < 0) {
      throw logic_error("zero::Local: " + failure_.text);
    }
    local_place const& place = seat_of(rank).place;
    throw peer_error(
        failure_.text, failure_.rank, place.tag.step, place.unit.data(), place.operation.data());
  }

  void depart(int rank) {
    seat_of(rank).left = true;
    somebody_left_ = true;
    changed_.notify_all();
  }

  void forsake(int rank) {
    std::lock_guard const lock(mutex_);
    depart(rank);
  }

  /// All ranks are here: do they mean the same call?
  void compare() {
    for (int i = 1; i < size(); ++i) {
      seat const& a = seat_of(0);
      seat const& b = seat_of(i);
      if (!a.place.tag.matches(b.place.tag) || !a.call.matches(b.call)) {
        fail({-1, disagreement(a.place, a.call, i, b.place, b.call)});
        return;
      }
    }
  }

  /// `rank` cannot go on because others are not here.
  void blame_absent(int rank) {
    local_place const& wanted = seat_of(rank).place;
    for (int i = 0; i < size(); ++i) {
      if (seat const& s = seat_of(i); s.left && !s.present) {
        fail({i, departure(i, s.place, rank, wanted)});
        return;
      }
    }
    std::vector<int> absent;
    for (int i = 0; i < size(); ++i) {
      if (!seat_of(i).present) {
        absent.push_back(i);
      }
    }
    fail({absent.front(), absence(absent, seat_of(absent.front()).place, wanted, stall_limit_)});
  }

  std::chrono::milliseconds stall_limit_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<seat> seats_;
  int arrived_ = 0;
  int readers_ = 0;
  std::uint64_t generation_ = 0;
  bool somebody_left_ = false;
  std::atomic<bool> failed_{false};
  failure failure_;
  std::vector<std::shared_ptr<local_meeting>> children_;
};

}  // namespace zero::inline ZERO_ABI::detail
