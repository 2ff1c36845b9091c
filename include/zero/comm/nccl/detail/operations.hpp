// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>
#include <zero/comm/detail/deadline.hpp>
#include <zero/comm/nccl/detail/handle.hpp>
#include <zero/comm/nccl/detail/watchdog.hpp>
#include <zero/comm/nccl/options.hpp>
#include <zero/comm/peer/news.hpp>
#include <zero/core/error.hpp>
#include <zero/core/traffic.hpp>
#include <zero/device/gpu/device_guard.hpp>
#include <zero/version.hpp>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace zero::inline ZERO_ABI::detail {

/// The operations of a rank of NCCL, whatever they are: one at a time or in groups, watched from
/// their begin to their end, and what becomes of them when one fails.
class nccl_operations {
 public:
  /// Whose sentences the refusals are.
  static constexpr char const* name = "zero::Nccl";

  nccl_operations(ncclComm_t comm, bool owned, nccl_options const& options)
      : handle(comm, owned),
        limit_(options.limit),
        watchdog_(std::make_unique<nccl_watchdog>(handle, options)) {}

  nccl_operations(nccl_operations const&) = delete;
  nccl_operations& operator=(nccl_operations const&) = delete;

  [[nodiscard]] int rank() const noexcept { return handle.rank(); }

  [[nodiscard]] int size() const noexcept { return handle.size(); }

  [[nodiscard]] int device() const noexcept { return handle.device(); }

  // --- operations --------------------------------------------------------------------------------

  /// What a collective is, for the watchdog and for messages.
  struct call {
    collective kind;
    std::int64_t size;  ///< 0: there is nothing to move
    char const* name;
  };

  /// Runs one collective: `f(comm)` makes the calls of NCCL and returns the last one's result.
  template <class F>
  void run(cudaStream_t stream, collective_tag const& tag, call const& what, F&& f) {
    gpu::device_guard const guard(device());
    bool const grouped = in_group();
    handle.inside([&](ncclComm_t comm) {
      precondition(!left_, "zero::Nccl: this communicator has left; it takes no more calls");
      step_.store(tag.step, std::memory_order_relaxed);
      if (what.size == 0) {
        return;
      }
      if (!grouped || !group_marked_) {
        watchdog_->begin(stream, tag, what.kind);
        group_marked_ = grouped;
        group_stream_ = stream;
      }
      handle.settle(f(comm), what.name);
      if (!grouped) {
        watchdog_->end(stream);
      }
    });
  }

  /// Runs what is no call of NCCL's as an operation: `f()` enqueues it.
  template <class F>
  void operate(cudaStream_t stream, collective_tag const& tag, collective kind, F&& f) {
    run(stream, tag, {kind, 1, "peers"}, [&](ncclComm_t) {
      f();
      return ncclSuccess;
    });
  }

  void begin_group() { handle.begin_group(); }

  /// Ends a group; `last()` comes behind the calls of the outermost one.
  template <class F>
  void end_group(F&& last) {
    gpu::device_guard const guard(device());
    if (handle.end_group() && std::exchange(group_marked_, false)) {
      handle.inside([&](ncclComm_t) {
        last();
        watchdog_->end(group_stream_);
      });
    }
  }

  void end_group() {
    end_group([] {});
  }

  [[nodiscard]] bool in_group() const noexcept { return handle.in_group(); }

  /// See `nccl_communicator::begin_watch`.
  void begin_watch(cudaStream_t stream, collective_tag const& tag) {
    watchdog_->begin(stream, tag, collective::all_gather, true);
  }

  void end_watch(cudaStream_t stream) { watchdog_->end(stream); }

  void listen_to(peer_news& news) noexcept { handle.listen_to(news); }

  // --- failures and the end ----------------------------------------------------------------------

  /// Throws the failure of this rank, or of another one that has said so.
  void check() {
    if (watchdog_->has_news()) {
      watchdog_->wake();  // it knows where this rank is
      deadline const soon(std::chrono::seconds(1));
      while (!failed() && !soon.passed()) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
      watchdog_->listen(step_.load(std::memory_order_relaxed), "", "check");
    }
    handle.check();
  }

  [[nodiscard]] bool failed() const noexcept { return handle.failed(); }

  void fail(std::exception_ptr error, int origin = -1, std::string why = {}) noexcept {
    handle.fail(std::move(error), origin, std::move(why));
    if (watchdog_ != nullptr) {
      watchdog_->wake();
    }
  }

  void abort(std::string const& why) noexcept {
    try {
      throw peer_error(
          "rank " + std::to_string(rank()) + " has failed: " + why, rank(), 0, "", "abort");
    } catch (...) {
      fail(std::current_exception(), rank(), why);
    }
  }

  void leave() noexcept {
    left_ = true;
    watchdog_->leave();
  }

  /// The watchdog ends the wait when one of its operations takes too long.
  template <class Ended>
  void drain(Ended&& ended) noexcept {
    std::optional<deadline> until;  // for what nobody watches
    while (!failed()) {
      bool const idle = watchdog_->idle();
      if (idle && ended()) {
        break;
      }
      if (idle && !until.has_value()) {
        until.emplace(limit_);
      }
      if (idle && until->passed()) {
        abort("its last operations have not ended");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  /// Nobody watches any more; after a failure the ranks of the host have been told, and NCCL's
  /// operations stopped. May be called again.
  void close() noexcept {
    watchdog_.reset();
    if (failed()) {
      handle.stop();
    }
  }

  nccl_handle handle;

 protected:
  [[nodiscard]] nccl_watchdog& watchdog() noexcept { return *watchdog_; }

 private:
  std::chrono::nanoseconds limit_;
  std::unique_ptr<nccl_watchdog> watchdog_;
  cudaStream_t group_stream_ = nullptr;
  bool group_marked_ = false;
  bool left_ = false;
  std::atomic<std::int64_t> step_{0};  // of the last call
};

}  // namespace zero::inline ZERO_ABI::detail
