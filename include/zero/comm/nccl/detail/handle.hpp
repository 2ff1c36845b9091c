// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/nccl/error.hpp>
#include <zero/comm/nccl/options.hpp>
#include <zero/comm/peer/news.hpp>
#include <zero/core/error.hpp>
#include <zero/version.hpp>

#include <nccl.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace zero::inline ZERO_ABI::detail {

/// The communicator of NCCL behind a rank: who may touch it when, and how it ends.
///
/// NCCL frees a communicator in `ncclCommAbort`, whoever is using it. So the rank's thread holds a
/// lock while it is inside NCCL (uncontended, some 20 ns), and the watchdog aborts under that lock.
/// A rank's thread that is stuck inside a blocking call is woken by `ncclCommRevoke` first, which
/// stops operations and frees nothing; before NCCL 2.28.7 there is no such call, and the watchdog
/// aborts at last without the lock, as NCCL's own documentation does.
class nccl_handle {
 public:
  using clock = std::chrono::steady_clock;

  nccl_handle(ncclComm_t comm, bool owned)
      : comm_(comm),
        owned_(owned) {
    try {
      check_nccl(ncclCommUserRank(comm_, &rank_), "ncclCommUserRank", comm_);
      check_nccl(ncclCommCount(comm_, &size_), "ncclCommCount", comm_);
      check_nccl(ncclCommCuDevice(comm_, &device_), "ncclCommCuDevice", comm_);
    } catch (...) {
      if (owned_) {
        static_cast<void>(ncclCommAbort(comm_));
      }
      throw;
    }
  }

  nccl_handle(nccl_handle const&) = delete;
  nccl_handle& operator=(nccl_handle const&) = delete;

  /// @pre the watchdog has ended
  ~nccl_handle() {
    if (comm_ != nullptr && owned_ && !deserted_) {
      static_cast<void>(failed() ? ncclCommAbort(comm_) : ncclCommDestroy(comm_));
    }
  }

  [[nodiscard]] int rank() const noexcept { return rank_; }

  [[nodiscard]] int size() const noexcept { return size_; }

  [[nodiscard]] int device() const noexcept { return device_; }

  /// Null once it has been aborted.
  [[nodiscard]] ncclComm_t get() const noexcept { return comm_; }

  [[nodiscard]] nccl_features const& features() const noexcept { return features_; }

  // --- any thread --------------------------------------------------------------------------------

  /// Keeps the first failure; the watchdog then stops the communicator.
  /// @param error  what `check` throws
  /// @param origin the rank that failed by itself; -1: this one, as far as it knows
  /// @param why    its reason, for ranks that can be told; empty: the error's text
  void fail(std::exception_ptr error, int origin = -1, std::string why = {}) noexcept {
    std::lock_guard const lock(failure_mutex_);
    if (failure_ == nullptr) {
      failure_ = std::move(error);
      origin_ = origin;
      why_ = std::move(why);
      failed_.store(true, std::memory_order_release);
    }
  }

  /// From now on the ranks of the host tell each other of failures by these news, which live until
  /// `stop` has been called for the last time.
  void listen_to(peer_news& news) noexcept { news_.store(&news, std::memory_order_release); }

  /// What `listen_to` was given, or null.
  [[nodiscard]] peer_news* news() const noexcept { return news_.load(std::memory_order_acquire); }

  [[nodiscard]] bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }

  /// Throws the failure, if there is one.
  void check() const {
    if (failed()) {
      std::exception_ptr error;
      {
        std::lock_guard const lock(failure_mutex_);
        error = failure_;
      }
      std::rethrow_exception(error);
    }
  }

  // --- the rank's thread -------------------------------------------------------------------------

  /// Runs `f(comm)` inside NCCL. An exception makes the rank fail, because the other ranks go on
  /// without it, and closes the groups that are open, which otherwise would swallow this thread's
  /// later calls.
  /// @throws the rank's failure; what f throws
  template <class F>
  void inside(F&& f) {
    enter();
    try {
      check();
      f(comm_);
    } catch (...) {
      abandon(std::current_exception());
      throw;
    }
    exit();
  }

  /// Opens a group; the rank's thread stays inside until the outermost one ends.
  void begin_group() {
    enter();
    try {
      check();
      settle(ncclGroupStart(), "ncclGroupStart");
      ++groups_;
    } catch (...) {
      abandon(std::current_exception());
      throw;
    }
  }

  /// Ends a group. @return whether it was the outermost one, whose calls have been launched now
  /// @pre `in_group()`
  bool end_group() {
    try {
      --groups_;
      settle(ncclGroupEnd(), "ncclGroupEnd");
    } catch (...) {
      abandon(std::current_exception());
      throw;
    }
    exit();
    return groups_ == 0;
  }

  /// A thread that nobody waits for any more is still inside NCCL with the communicator, which is
  /// therefore never freed. @pre inside
  void desert() noexcept { deserted_ = true; }

  /// Whether a group is open.
  [[nodiscard]] bool in_group() const noexcept { return groups_ > 0; }

  /// Judges what a call returned. In the outermost stay, waits until a communicator that does not
  /// block has launched (not until the device has done anything).
  /// @throws the rank's failure, else nccl_error
  void settle(ncclResult_t result, char const* call) {
    while (result == ncclInProgress && depth_ == 1) {
      may_not_block_.store(true, std::memory_order_relaxed);
      calls_.unlock();
      std::this_thread::yield();
      calls_.lock();
      check();
      ncclResult_t state = ncclInProgress;
      ncclResult_t const asked = ncclCommGetAsyncError(comm_, &state);
      result = asked == ncclSuccess ? state : asked;
    }
    if (result != ncclSuccess && result != ncclInProgress) {
      check();  // when the watchdog has stopped the call, its reason is the reason
      try {
        check_nccl(result, call, comm_);
      } catch (...) {
        fail(std::current_exception());
        throw;
      }
    }
  }

  // --- the watchdog's thread ---------------------------------------------------------------------

  /// What NCCL has noticed by itself; `ncclInProgress` when it cannot be asked now.
  [[nodiscard]] ncclResult_t asynchronous_error() noexcept {
    std::unique_lock const lock(calls_, std::try_to_lock);
    if ((!lock && may_not_block_.load(std::memory_order_relaxed)) || comm_ == nullptr) {
      return ncclInProgress;  // two threads must not complete one launch
    }
    ncclResult_t state = ncclSuccess;
    ncclResult_t const asked = ncclCommGetAsyncError(comm_, &state);
    return asked == ncclSuccess ? state : asked;
  }

  /// How long the rank's thread has been inside NCCL without a break.
  [[nodiscard]] std::chrono::nanoseconds inside_for(clock::time_point now) const noexcept {
    auto const since = inside_since_.load(std::memory_order_relaxed);
    return since == 0 ? std::chrono::nanoseconds(0)
                      : now.time_since_epoch() - clock::duration(since);
  }

  /// After a failure: tells the ranks of the host, and lets go all devices that await others; then
  /// stops all operations. Each once. Kernels of NCCL end; nothing waits for them.
  void stop() noexcept {
    tell();
    if (stopped_ || comm_ == nullptr) {
      return;
    }
    stopped_ = true;
    bool locked = lock_within(std::chrono::seconds(1));
    bool const revoke = features_.revoke && (!locked || !owned_ || deserted_);
    if (revoke) {
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 7)
      static_cast<void>(ncclCommRevoke(comm_, NCCL_REVOKE_DEFAULT));
#endif
      locked = locked || lock_within(std::chrono::seconds(10));
    }
    // A user's communicator that could be revoked stays his to destroy. One that is still in use
    // after it was revoked is aborted by the destructor, unless it is deserted.
    if (revoke ? owned_ && locked && !deserted_ : true) {
      static_cast<void>(ncclCommAbort(std::exchange(comm_, nullptr)));
    }
    if (locked) {
      calls_.unlock();
    }
  }

 private:
  void tell() noexcept {
    auto* const told = news();
    if (told == nullptr) {
      return;
    }
    {
      std::lock_guard const lock(failure_mutex_);
      if (std::exchange(told_, true)) {
        return;
      }
      int const origin = origin_ < 0 ? rank_ : origin_;
      if (!why_.empty()) {
        told->tell(origin, why_);
      } else {
        try {
          std::rethrow_exception(failure_);
        } catch (std::exception const& error) {
          told->tell(origin, error.what());
        } catch (...) {
          told->tell(origin, "an exception without text");
        }
      }
    }
    told->release();
  }

  void enter() noexcept {
    if (depth_++ == 0) {
      calls_.lock();
      inside_since_.store(clock::now().time_since_epoch().count(), std::memory_order_relaxed);
    }
  }

  void exit() noexcept {
    if (--depth_ == 0) {
      inside_since_.store(0, std::memory_order_relaxed);
      calls_.unlock();
    }
  }

  /// Leaves NCCL for good after an exception.
  void abandon(std::exception_ptr error) noexcept {
    fail(std::move(error));
    for (; groups_ > 0; --groups_) {
      static_cast<void>(ncclGroupEnd());
    }
    depth_ = 1;
    exit();
  }

  [[nodiscard]] bool lock_within(std::chrono::milliseconds limit) noexcept {
    auto const end = clock::now() + limit;
    while (!calls_.try_lock()) {
      if (clock::now() >= end) {
        return false;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }

  ncclComm_t comm_;
  bool owned_;
  int rank_ = 0;
  int size_ = 0;
  int device_ = 0;
  nccl_features features_ = nccl_features::of_library();
  std::mutex calls_;
  int depth_ = 0;          // the rank's thread's: stays inside NCCL, which nest
  int groups_ = 0;         // the rank's thread's
  bool deserted_ = false;  // under `calls_`
  std::atomic<clock::rep> inside_since_{0};
  std::atomic<bool> may_not_block_{false};
  bool stopped_ = false;  // the watchdog's
  mutable std::mutex failure_mutex_;
  std::exception_ptr failure_;
  int origin_ = -1;
  std::string why_;
  bool told_ = false;
  std::atomic<peer_news*> news_{nullptr};
  std::atomic<bool> failed_{false};
};

}  // namespace zero::inline ZERO_ABI::detail
