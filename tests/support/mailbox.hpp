// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>
#include <zero/core/arithmetic.hpp>
#include <zero/core/dtype.hpp>
#include <zero/core/error.hpp>
#include <zero/core/rank_order.hpp>
#include <zero/core/traffic.hpp>
#include <zero/policy/communicator.hpp>
#include <zero/policy/concepts.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

/// @file
/// A communicator as a user writes it who knows the documents alone: threads that put bytes into
/// boxes of host memory and read each other's.

namespace zero::test {

/// What the ranks of a world share.
class mailroom {
 public:
  /// What a rank brings to a call.
  struct letter {
    collective kind{};
    collective_tag tag;
    std::int64_t bytes = 0;
    std::vector<std::byte> box;  ///< grows at the first call of its size
  };

  explicit mailroom(int ranks)
      : seats_(static_cast<std::size_t>(ranks)) {}

  [[nodiscard]] int size() const noexcept { return static_cast<int>(seats_.size()); }

  /// To be changed by its rank before a call's first meeting, read by all between the two.
  [[nodiscard]] letter& letter_of(int rank) { return seat_of(rank).mail; }

  /// Returns when all ranks have come.
  /// @throws peer_error a rank failed, or left before it came
  void meet(int rank) {
    std::unique_lock lock(mutex_);
    raise_failure(rank);
    auto const round = round_;
    seat_of(rank).here = true;
    if (++here_ == size()) {
      here_ = 0;
      for (auto& seat : seats_) {
        seat.here = false;
      }
      ++round_;
      changed_.notify_all();
      return;
    }
    changed_.wait(lock, [&] { return round_ != round || failed_ >= 0 || absent() >= 0; });
    if (round_ == round) {
      if (failed_ < 0) {
        fail(absent(), "rank " + std::to_string(absent()) + " left");
      }
      raise_failure(rank);
    }
  }

  void abort(int rank, std::string why) {
    std::lock_guard const lock(mutex_);
    fail(rank, std::move(why));
  }

  void leave(int rank) {
    std::lock_guard const lock(mutex_);
    seat_of(rank).left = true;
    changed_.notify_all();
  }

  void check(int rank) const {
    std::lock_guard const lock(mutex_);
    raise_failure(rank);
  }

  void count(int rank, collective kind, std::int64_t bytes) {
    if (size() > 1) {
      std::lock_guard const lock(mutex_);
      auto& entry = seat_of(rank).sent[kind];
      entry.count += 1;
      entry.bytes += bytes;
    }
  }

  [[nodiscard]] traffic sent(int rank) const {
    std::lock_guard const lock(mutex_);
    return seats_[static_cast<std::size_t>(rank)].sent;
  }

 private:
  struct seat {
    letter mail;
    traffic sent;
    bool here = false;
    bool left = false;
  };

  [[nodiscard]] seat& seat_of(int rank) { return seats_[static_cast<std::size_t>(rank)]; }

  /// A rank that has left and is not here, -1: none.
  [[nodiscard]] int absent() const {
    for (std::size_t i = 0; i < seats_.size(); ++i) {
      if (seats_[i].left && !seats_[i].here) {
        return static_cast<int>(i);
      }
    }
    return -1;
  }

  void fail(int rank, std::string why) {
    if (failed_ < 0) {
      failed_ = rank;
      why_ = std::move(why);
    }
    changed_.notify_all();
  }

  void raise_failure(int rank) const {
    if (failed_ >= 0) {
      auto const& tag = seats_[static_cast<std::size_t>(rank)].mail.tag;
      auto const text = [](char const* name) { return std::string(name == nullptr ? "" : name); };
      throw peer_error(why_, failed_, tag.step, text(tag.unit_name), text(tag.operation_name));
    }
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<seat> seats_;
  int here_ = 0;
  std::uint64_t round_ = 0;
  int failed_ = -1;
  std::string why_;
};

/// One rank's end. The device's own copies bring bytes into boxes and out of them, so that any
/// device will do whose bodies have run when `kernels::copy` returns.
template <class Device>
class mailbox_communicator {
 public:
  using stream_type = typename Device::stream_type;

  mailbox_communicator(std::shared_ptr<mailroom> room, int rank)
      : room_(std::move(room)),
        rank_(rank) {}

  [[nodiscard]] int rank() const noexcept { return rank_; }

  [[nodiscard]] int size() const noexcept { return room_->size(); }

  // [all_gather]
  void all_gather(stream_type s,
                  collective_tag const& tag,
                  void const* send,
                  void* receive,
                  std::int64_t bytes) {
    room_->count(rank_, collective::all_gather, (size() - 1) * bytes);
    std::byte* const box = begin(collective::all_gather, tag, bytes, bytes);
    kernels::copy(s, box, send, bytes);
    room_->meet(rank_);  // all boxes are full
    compare();
    for (int i = 0; i < size(); ++i) {
      kernels::copy(s, static_cast<std::byte*>(receive) + i * bytes, box_of(i), bytes);
    }
    room_->meet(rank_);  // all have read them
  }

  // [all_gather]
  void all_to_others(stream_type s,
                     collective_tag const& tag,
                     void const* send,
                     std::int64_t stride,
                     void* receive,
                     std::int64_t bytes) {
    room_->count(rank_, collective::all_to_others, (size() - 1) * bytes);
    std::byte* const box = begin(collective::all_to_others, tag, bytes, size() * bytes);
    for (int j = 0; j < size(); ++j) {
      if (j != rank_) {
        kernels::copy(s, box + j * bytes, static_cast<std::byte const*>(send) + j * stride, bytes);
      }
    }
    room_->meet(rank_);
    compare();
    for (int i = 0; i < size(); ++i) {
      if (i != rank_) {
        kernels::copy(s,
                      static_cast<std::byte*>(receive) + place_among_others(i, rank_) * bytes,
                      box_of(i) + rank_ * bytes,
                      bytes);
      }
    }
    room_->meet(rank_);
  }

  void reduce_scatter(stream_type s,
                      collective_tag const& tag,
                      void* buffer,
                      std::int64_t elements,
                      dtype type,
                      double prescale) {
    auto const bytes = elements * bytes_of(type);
    room_->count(rank_, collective::reduce_scatter, (size() - 1) * bytes);
    add_up(s,
           collective::reduce_scatter,
           tag,
           buffer,
           size() * elements,
           rank_ * elements,
           elements,
           type,
           prescale);
  }

  void all_reduce(
      stream_type s, collective_tag const& tag, void* buffer, std::int64_t elements, dtype type) {
    auto const bytes = elements * bytes_of(type);
    room_->count(rank_, collective::all_reduce, 2 * (size() - 1) * bytes / size());
    add_up(s, collective::all_reduce, tag, buffer, elements, 0, elements, type, 1);
  }

  void broadcast(
      stream_type s, collective_tag const& tag, void* buffer, std::int64_t bytes, int root) {
    room_->count(rank_, collective::broadcast, rank_ == root ? (size() - 1) * bytes : 0);
    std::byte* const box = begin(collective::broadcast, tag, bytes, bytes);
    if (rank_ == root) {
      kernels::copy(s, box, buffer, bytes);
    }
    room_->meet(rank_);
    compare();
    if (rank_ != root) {
      kernels::copy(s, buffer, box_of(root), bytes);
    }
    room_->meet(rank_);
  }

  void begin_group() {}

  void end_group() {}

  void abort(std::string why) noexcept { room_->abort(rank_, std::move(why)); }

  void leave() noexcept { room_->leave(rank_); }

  void check() const { room_->check(rank_); }

  [[nodiscard]] traffic counters() const { return room_->sent(rank_); }

 protected:
  using kernels = typename Device::kernels;

  [[nodiscard]] mailroom& room() { return *room_; }

  /// Says what this rank is about to do, and gives its box.
  std::byte* begin(collective kind,
                   collective_tag const& tag,
                   std::int64_t bytes,
                   std::int64_t room) {
    auto& mail = room_->letter_of(rank_);
    mail.kind = kind;
    mail.tag = tag;
    mail.bytes = bytes;
    if (mail.box.size() < static_cast<std::size_t>(room)) {
      mail.box.resize(static_cast<std::size_t>(room));
    }
    return mail.box.data();
  }

  [[nodiscard]] std::byte const* box_of(int rank) { return room_->letter_of(rank).box.data(); }

  /// All are here: do all mean the same call?
  void compare() {
    auto const& mine = room_->letter_of(rank_);
    for (int i = 0; i < size(); ++i) {
      auto const& other = room_->letter_of(i);
      if (other.kind != mine.kind || other.bytes != mine.bytes || !other.tag.matches(mine.tag)) {
        throw logic_error("zero::test::Mailbox: the ranks came to different calls");
      }
    }
  }

  /// Elements `first` ... of the sum over the ranks, in rank order, take the place of this rank's.
  void add_up(stream_type s,
              collective kind,
              collective_tag const& tag,
              void* buffer,
              std::int64_t elements,
              std::int64_t first,
              std::int64_t count,
              dtype type,
              double prescale) {
    auto const width = bytes_of(type);
    std::byte* const box = begin(kind, tag, elements * width, elements * width);
    kernels::copy(s, box, buffer, elements * width);
    room_->meet(rank_);
    compare();
    visit_dtype(type, [&]<class T>(std::type_identity<T>) {
      float const scale = narrow(prescale);
      auto const contribution = [&](int rank, std::int64_t i) {
        T value{};
        std::memcpy(&value, box_of(rank) + i * width, sizeof value);
        return prescale == 1 ? value : from_float<T>(mul(to_float(value), scale));
      };
      std::vector<T> sums;
      for (std::int64_t i = first; i < first + count; ++i) {
        T sum = contribution(0, i);
        for (int rank = 1; rank < size(); ++rank) {
          sum = from_float<T>(add(to_float(sum), to_float(contribution(rank, i))));
        }
        sums.push_back(sum);
      }
      kernels::copy(s, static_cast<std::byte*>(buffer) + first * width, sums.data(), count * width);
    });
    room_->meet(rank_);
  }

 private:
  std::shared_ptr<mailroom> room_;
  int rank_;
};

// [policy]
struct Mailbox {
  using policy_category = communicator_category;

  template <class DevicePolicy>
  using communicator = mailbox_communicator<typename DevicePolicy::device>;
};

// [policy]

/// Runs `body(communicator)` on a thread a rank. A rank that throws makes the others fail.
/// @throws what the first failed rank threw, if no other's failure made it
template <class Communicator, class Body>
void run_mail(int ranks, Body&& body) {
  auto const room = std::make_shared<mailroom>(ranks);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(Communicator(room, rank));
      } catch (std::exception const& error) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
        room->abort(rank, error.what());
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  std::exception_ptr secondary;
  for (auto const& error : errors) {
    if (error != nullptr) {
      try {
        std::rethrow_exception(error);
      } catch (peer_error const&) {
        secondary = error;
      }
    }
  }
  if (secondary != nullptr) {
    std::rethrow_exception(secondary);
  }
}

}  // namespace zero::test
