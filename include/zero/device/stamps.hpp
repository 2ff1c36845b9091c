// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/device/host_stream.hpp>
#include <zero/version.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <vector>

namespace zero::inline ZERO_ABI {

/// Points in time at which a queue got somewhere, one preallocated place each. `set(place, stream)`
/// runs inside a body of the queue; `microseconds(from, to)` is read when the queues are empty.
/// Each kind of stream has its own specialisation; a GPU's is in device/gpu/stamps.hpp.
template <class Stream>
class time_stamps;

/// A stream for which there are time stamps, so that a timeline can be recorded on it. Whoever
/// brings a stream of his own specialises `time_stamps` for it, or has no timelines.
///
/// **Minimal definition.** `time_stamps<Stream>(places)`, `set(place, stream)` and
/// `microseconds(from, to)`, as above.
///
/// **Models.** `host_stream`, and the GPU's `cudaStream_t`.
template <class Stream>
concept timed_stream =
    requires(
        time_stamps<Stream>& stamps, time_stamps<Stream> const& read, std::size_t at, Stream s) {
      { stamps.set(at, s) } -> std::same_as<void>;
      { read.microseconds(at, at) } -> std::same_as<double>;
    } &&
    std::constructible_from<time_stamps<Stream>, std::size_t>;

/// On the host: the steady clock, read by the thread that runs the queue.
template <>
class time_stamps<host_stream> {
 public:
  /// @param places  numbered 0 ... places - 1
  explicit time_stamps(std::size_t places)
      : at_(places) {}

  /// Stamps a place with the time at which this runs.
  void set(std::size_t place, host_stream /*stream*/) noexcept {
    at_[place] = std::chrono::steady_clock::now();
  }

  /// @return the time from one stamp to another; negative if the other came first
  [[nodiscard]] double microseconds(std::size_t from, std::size_t to) const {
    return std::chrono::duration<double, std::micro>(at_[to] - at_[from]).count();
  }

 private:
  std::vector<std::chrono::steady_clock::time_point> at_;
};

static_assert(timed_stream<host_stream>);

}  // namespace zero::inline ZERO_ABI
