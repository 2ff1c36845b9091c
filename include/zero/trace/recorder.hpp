// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/queue.hpp>
#include <zero/device/stamps.hpp>
#include <zero/trace/timeline.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace zero::inline ZERO_ABI {

/// What is known of a stretch of time when it is put into a queue.
struct timeline_mark {
  char const* name = "";       ///< of the operation
  char const* unit = "";       ///< that it is about; empty for none
  queue row = queue::compute;  ///< that it runs on
  std::int64_t step = 0;       ///< that it belongs to
  bool ended = false;          ///< its end is known
};

/// Records when operations began and ended on their queues, up to a number that is set beforehand;
/// later ones are counted and left out. Recording allocates nothing.
/// @tparam Stream one for which there are time stamps; for others nothing can be recorded
template <class Stream>
class timeline_recorder {
 public:
  using mark = timeline_mark;  ///< what `begin` takes

  /// @param most how many stretches are recorded. Allocates two stamps for each.
  explicit timeline_recorder(std::size_t most)
      : stamps_(2 * most + 1) {
    marks_.reserve(most);
  }

  /// Puts the start of time into a queue; before anything else.
  template <class Device>
  void start(Device& device) {
    device.enqueue(queue::compute, [this](Stream s) { stamps_.set(0, s); });
  }

  /// Puts the begin of a stretch into its queue.
  /// @return its number, for `end`; -1 when there is no place left
  template <class Device>
  std::int64_t begin(Device& device, mark const& what) {
    if (marks_.size() == marks_.capacity()) {
      ++left_out_;
      return -1;
    }
    auto const number = static_cast<std::int64_t>(marks_.size());
    marks_.push_back(what);
    stamp(device, what.row, 2 * marks_.size() - 1);
    return number;
  }

  /// Puts the end of a stretch into its queue.
  template <class Device>
  void end(Device& device, std::int64_t number) {
    if (number >= 0) {
      auto& what = marks_[static_cast<std::size_t>(number)];
      what.ended = true;
      stamp(device, what.row, 2 * static_cast<std::size_t>(number) + 2);
    }
  }

  /// Stretches for which there was no place.
  [[nodiscard]] std::int64_t left_out() const { return left_out_; }

  /// What was recorded; when the queues are empty.
  [[nodiscard]] std::vector<timeline_entry> entries() const {
    std::vector<timeline_entry> list;
    for (std::size_t i = 0; i < marks_.size(); ++i) {
      auto const& what = marks_[i];
      if (what.ended) {
        list.push_back({what.name,
                        what.unit,
                        what.row,
                        what.step,
                        stamps_.microseconds(0, 2 * i + 1),
                        stamps_.microseconds(0, 2 * i + 2)});
      }
    }
    return list;
  }

 private:
  template <class Device>
  void stamp(Device& device, queue q, std::size_t place) {
    device.enqueue(q, [this, place](Stream s) { stamps_.set(place, s); });
  }

  time_stamps<Stream> stamps_;
  std::vector<mark> marks_;
  std::int64_t left_out_ = 0;
};

/// What stands in for it on a stream without time stamps: it cannot be made.
template <class Stream>
  requires(!timed_stream<Stream>)
class timeline_recorder<Stream> {
 public:
  using mark = timeline_mark;  ///< what `begin` takes

  /// Refuses.
  explicit timeline_recorder(std::size_t /*most*/) {
    static_assert(
        timed_stream<Stream>,
        "zero::ZeroEngine: start_timeline needs time stamps on the streams of this device; "
        "specialise zero::time_stamps for its stream_type, see zero::timed_stream.");
  }

  /// Never called.
  template <class Device>
  void start(Device& /*device*/) {}

  /// Never called.
  template <class Device>
  std::int64_t begin(Device& /*device*/, mark const& /*what*/) {
    return -1;
  }

  /// Never called.
  template <class Device>
  void end(Device& /*device*/, std::int64_t /*number*/) {}

  /// Never called.
  [[nodiscard]] std::vector<timeline_entry> entries() const { return {}; }
};

}  // namespace zero::inline ZERO_ABI
