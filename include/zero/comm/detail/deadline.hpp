// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/version.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

namespace zero::inline ZERO_ABI::detail {

/// A point in time past which nobody waits.
class deadline {
 public:
  using clock = std::chrono::steady_clock;

  explicit deadline(std::chrono::nanoseconds from_now)
      : limit_(from_now),
        end_(clock::now() + from_now) {}

  [[nodiscard]] bool passed() const noexcept { return clock::now() >= end_; }

  /// The whole limit in words, e.g. "120 s".
  [[nodiscard]] std::string text() const {
    auto const milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(limit_).count();
    return milliseconds % 1000 == 0 ? std::to_string(milliseconds / 1000) + " s"
                                    : std::to_string(milliseconds) + " ms";
  }

  /// What is left, as poll(2) wants it: 0 when passed, never longer than a second, so that a caller
  /// who loops looks around now and then.
  [[nodiscard]] int poll_milliseconds() const noexcept {
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(end_ - clock::now()).count();
    return static_cast<int>(std::clamp<decltype(left)>(left, 0, 1000));
  }

  /// Sleeps for a while, not past the end.
  void sleep(std::chrono::milliseconds most) const {
    std::this_thread::sleep_until(std::min(end_, clock::now() + most));
  }

 private:
  std::chrono::nanoseconds limit_;
  clock::time_point end_;
};

}  // namespace zero::inline ZERO_ABI::detail
