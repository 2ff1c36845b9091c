// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>
#include <zero/comm/detail/local_text.hpp>
#include <zero/core/error.hpp>
#include <zero/version.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// The operations that one thread has put into a stream and another one watches, oldest first.
///
/// Single producer, single consumer, no lock, no allocation after construction. Each slot has a
/// number by which both sides find what belongs to it, e.g. two events: one recorded before the
/// operation, one after it. When the ring is full an operation goes unwatched; the producer never
/// waits. If the consumer is stuck then, it is stuck at an older one, which it reports.
class operation_ring {
 public:
  using clock = std::chrono::steady_clock;

  explicit operation_ring(std::size_t capacity)
      : places_(capacity) {
    precondition(capacity >= 1, "zero::detail::operation_ring: a ring needs a slot");
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return places_.size(); }

  /// Producer: the slot of the operation that comes, or nothing when the ring is full. Nobody sees
  /// it before `commit`; asking again without one gives the same slot.
  [[nodiscard]] std::optional<std::size_t> reserve(collective_tag const& tag,
                                                   collective kind) noexcept {
    std::uint64_t const next = written_.load(std::memory_order_relaxed);
    if (next - finished_.load(std::memory_order_acquire) == capacity()) {
      return std::nullopt;
    }
    auto const slot = static_cast<std::size_t>(next % capacity());
    places_[slot].assign(tag, kind);
    return slot;
  }

  /// Producer: hands the reserved slot over.
  void commit() noexcept { written_.fetch_add(1, std::memory_order_release); }

  /// Consumer: drops what has ended, then judges the oldest operation that has not.
  ///
  /// An operation's time counts from when it was first seen to have begun: work that it waits for,
  /// and a host that runs ahead by minutes, do not count.
  ///
  /// @param now   the time
  /// @param limit how long an operation may take
  /// @param begun begun(slot): has everything before the operation ended?
  /// @param ended ended(slot): has the operation ended?
  /// @return the slot of the operation that has taken too long
  template <class Begun, class Ended>
  [[nodiscard]] std::optional<std::size_t> overdue(clock::time_point now,
                                                   std::chrono::nanoseconds limit,
                                                   Begun&& begun,
                                                   Ended&& ended) {
    while (auto const slot = oldest()) {
      if (ended(*slot)) {
        begun_at_.reset();
        finished_.fetch_add(1, std::memory_order_release);
        continue;
      }
      if (!begun_at_.has_value() && begun(*slot)) {
        begun_at_ = now;
      }
      if (begun_at_.has_value() && now - *begun_at_ >= limit) {
        return slot;
      }
      break;
    }
    return std::nullopt;
  }

  /// Consumer: the slot of the oldest operation that has not been seen to end.
  [[nodiscard]] std::optional<std::size_t> oldest() const noexcept {
    std::uint64_t const next = finished_.load(std::memory_order_relaxed);
    if (next == written_.load(std::memory_order_acquire)) {
      return std::nullopt;
    }
    return static_cast<std::size_t>(next % capacity());
  }

  /// Consumer: where in the schedule the operation of a slot belongs.
  [[nodiscard]] local_place const& place(std::size_t slot) const noexcept { return places_[slot]; }

 private:
  std::vector<local_place> places_;
  std::atomic<std::uint64_t> written_{0};
  std::atomic<std::uint64_t> finished_{0};
  std::optional<clock::time_point> begun_at_;  // the consumer's
};

}  // namespace zero::inline ZERO_ABI::detail
