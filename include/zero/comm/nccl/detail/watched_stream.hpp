// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>
#include <zero/comm/detail/local_text.hpp>
#include <zero/comm/detail/operation_ring.hpp>
#include <zero/device/gpu/event.hpp>
#include <zero/version.hpp>

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// The operations that a rank's thread has put into one stream, and how its watchdog sees them
/// begin and end: two events an operation. In a stream the oldest operation is the one that holds
/// up the others; between streams that cannot be said, so each is watched by itself.
class watched_stream {
 public:
  /// Allocates; the events are the current device's.
  watched_stream() {
    for (std::size_t i = 0; i < ring_.capacity(); ++i) {
      before_.emplace_back(gpu::event_timing::off);
      after_.emplace_back(gpu::event_timing::off);
    }
  }

  // --- the rank's thread -------------------------------------------------------------------------

  /// Marks the begin of an operation, or of a graph. @throws cuda_error
  void begin(cudaStream_t stream, collective_tag const& tag, collective kind, bool graph) {
    slot_ = ring_.reserve(tag, kind);
    if (slot_.has_value()) {
      is_graph_[*slot_] = graph ? 1 : 0;
      before_[*slot_].record(stream);
    }
  }

  /// Marks its end; without one it was never there. @throws cuda_error
  void end(cudaStream_t stream) {
    if (slot_.has_value()) {
      after_[*slot_].record(stream);
      ring_.commit();
    }
    slot_.reset();
  }

  // --- the watchdog's thread ---------------------------------------------------------------------

  /// Drops what has ended; `last` becomes the latest of it.
  /// @return the oldest operation, when it has begun and not ended for as long as `limit`; else
  /// null
  /// @throws cuda_error
  [[nodiscard]] local_place const* overdue(operation_ring::clock::time_point now,
                                           std::chrono::nanoseconds limit,
                                           local_place& last) {
    auto const slot = ring_.overdue(
        now,
        limit,
        [this](std::size_t i) { return before_[i].ready(); },
        [&](std::size_t i) {
          bool const ended = after_[i].ready();
          if (ended) {
            last = ring_.place(i);
          }
          return ended;
        });
    return slot.has_value() ? &ring_.place(*slot) : nullptr;
  }

  /// Whether the oldest operation is a graph, whose end may come long after its last collective's.
  [[nodiscard]] bool oldest_is_graph() const noexcept {
    auto const slot = ring_.oldest();
    return slot.has_value() && is_graph_[*slot] != 0;
  }

  /// The oldest operation that has not been seen to end, or null.
  [[nodiscard]] local_place const* oldest() const noexcept {
    auto const slot = ring_.oldest();
    return slot.has_value() ? &ring_.place(*slot) : nullptr;
  }

 private:
  static constexpr std::size_t slots = 128;

  operation_ring ring_{slots};
  std::vector<gpu::event> before_;
  std::vector<gpu::event> after_;
  std::vector<char> is_graph_ = std::vector<char>(slots);
  std::optional<std::size_t> slot_;  // the rank's thread's
};

}  // namespace zero::inline ZERO_ABI::detail
