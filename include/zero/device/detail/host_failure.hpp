// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/version.hpp>

#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <utility>

namespace zero::inline ZERO_ABI::detail {

/// The first failure of a device, and who is told of it. All members may be called by any thread.
class host_failure {
 public:
  /// One atomic read.
  [[nodiscard]] bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }

  /// Keeps the failure if it is the first; says whether it is. Then tells the callback.
  bool keep(std::exception_ptr const& error) noexcept {
    {
      std::lock_guard const lock(mutex_);
      if (error_ != nullptr) {
        return false;
      }
      error_ = error;
      failed_.store(true, std::memory_order_release);
    }
    if (callback_) {
      try {
        callback_(error);
      } catch (...) {  // NOLINT(bugprone-empty-catch): an error in telling of one matters less
      }
    }
    return true;
  }

  /// Throws the failure, if there is one.
  void check() const {
    if (failed()) {
      std::lock_guard const lock(mutex_);
      std::rethrow_exception(error_);
    }
  }

  /// To be set before anything can fail.
  void set_callback(std::function<void(std::exception_ptr)> callback) {
    callback_ = std::move(callback);
  }

 private:
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  std::exception_ptr error_;
  std::function<void(std::exception_ptr)> callback_;
};

}  // namespace zero::inline ZERO_ABI::detail
