// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>
#include <zero/version.hpp>

#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// The text of an exception, whatever it is.
[[nodiscard]] inline std::string what_of(std::exception_ptr const& error) {
  try {
    std::rethrow_exception(error);
  } catch (std::exception const& e) {
    return e.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

/// Keeps the exception that explains the others: the first one that is no peer_error, else the
/// first.
class first_error {
 public:
  /// Keeps the exception that is being handled, if it is the better one; gives its text.
  std::string keep_current() {
    std::exception_ptr const error = std::current_exception();
    bool original = true;
    try {
      std::rethrow_exception(error);
    } catch (peer_error const&) {
      original = false;
    } catch (...) {
      original = true;
    }
    std::lock_guard const lock(mutex_);
    if (error_ == nullptr || (original && !original_)) {
      error_ = error;
      original_ = original;
    }
    return what_of(error);
  }

  /// Throws it, if there is one.
  void rethrow() const {
    if (error_ != nullptr) {
      std::rethrow_exception(error_);
    }
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  bool original_ = false;
};

/// Runs `body(rank)` on one thread a rank; `abort(rank, why)` is called for each that throws.
/// Throws what `first_error` kept, after all threads have ended.
template <class Body, class Abort>
void run_ranks(int ranks, Body body, Abort abort) {
  first_error errors;
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    auto const run = [&, rank] {
      try {
        body(rank);
      } catch (...) {
        abort(rank, errors.keep_current());
      }
    };
    try {
      threads.emplace_back(run);
    } catch (...) {  // no thread to be had: the ranks that have started must not wait for this one
      abort(rank, errors.keep_current());
      break;
    }
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  errors.rethrow();
}

}  // namespace zero::inline ZERO_ABI::detail
