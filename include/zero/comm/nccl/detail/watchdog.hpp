// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>
#include <zero/comm/detail/deadline.hpp>
#include <zero/comm/detail/local_text.hpp>
#include <zero/comm/detail/operation_ring.hpp>
#include <zero/comm/detail/peer_board.hpp>
#include <zero/comm/nccl/detail/handle.hpp>
#include <zero/comm/nccl_error.hpp>
#include <zero/comm/nccl_options.hpp>
#include <zero/core/error.hpp>
#include <zero/device/gpu/device_guard.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/device/gpu/event.hpp>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace zero::detail {

/// The thread of a rank that looks after its communicator: it queries NCCL's asynchronous error and
/// two events an operation, and stops the communicator after a failure. It waits for nothing and
/// enqueues nothing. Captures of other threads are not disturbed, because it exchanges its capture
/// mode; operations inside a capture are not watched, their graph's launch may be.
class nccl_watchdog {
 public:
  nccl_watchdog(nccl_handle& handle, nccl_options const& options)
      : handle_(handle),
        limit_(options.limit),
        interval_(options.watch_interval) {
    gpu::device_guard const guard(handle_.device());
    for (std::size_t i = 0; i < ring_.capacity(); ++i) {
      before_.emplace_back(gpu::event_timing::off);
      after_.emplace_back(gpu::event_timing::off);
    }
    thread_ = std::thread([this] { run(); });
  }

  nccl_watchdog(nccl_watchdog const&) = delete;
  nccl_watchdog& operator=(nccl_watchdog const&) = delete;

  ~nccl_watchdog() {
    {
      std::lock_guard const lock(mutex_);
      quit_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  // --- the rank's thread -------------------------------------------------------------------------

  /// Marks the begin of an operation in a stream. @throws cuda_error
  void begin(cudaStream_t stream, collective_tag const& tag, collective kind) {
    slot_ = captured(stream) ? std::nullopt : ring_.reserve(tag, kind);
    if (slot_.has_value()) {
      before_[*slot_].record(stream);
    }
  }

  /// Marks its end. @throws cuda_error
  void end(cudaStream_t stream) {
    if (slot_.has_value() && !captured(stream)) {
      after_[*slot_].record(stream);
      ring_.commit();
    }
    slot_.reset();
  }

  // --- any thread --------------------------------------------------------------------------------

  /// Makes the watchdog look now.
  void wake() noexcept {
    {
      std::lock_guard const lock(mutex_);
      look_now_ = true;
    }
    wake_.notify_one();
  }

  /// From now on the ranks of the host tell each other of failures on a board, which lives until
  /// this object is gone.
  void tell_on(peer_board& board) noexcept { board_.store(&board, std::memory_order_release); }

  /// Makes this rank fail when another one has said on the board that it has. One atomic read
  /// otherwise.
  /// @param step,unit,operation where this rank is
  void listen(std::int64_t step, char const* unit, char const* operation) {
    auto* const board = board_.load(std::memory_order_acquire);
    if (board == nullptr || !board->any_failed() || handle_.failed()) {
      return;
    }
    if (auto const failure = board->failure_of_another()) {
      peer_error const error(
          "rank " + std::to_string(failure->origin) + " has failed: " + failure->why,
          failure->origin,
          step,
          unit,
          operation);
      handle_.fail(std::make_exception_ptr(error), failure->origin, failure->why);
    }
  }

  /// Whether every watched operation has ended.
  [[nodiscard]] bool idle() const noexcept { return !ring_.oldest().has_value(); }

 private:
  static constexpr std::size_t slots = 256;
  static constexpr std::chrono::nanoseconds grace = std::chrono::seconds(1);

  [[nodiscard]] static bool captured(cudaStream_t stream) noexcept {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    auto const code = cudaStreamIsCapturing(stream, &status);
    gpu::ignore_at_exit(code);
    return code != cudaSuccess || status != cudaStreamCaptureStatusNone;
  }

  void run() noexcept {
    static_cast<void>(cudaSetDevice(handle_.device()));
    auto mode = cudaStreamCaptureModeRelaxed;
    static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode));
    std::unique_lock lock(mutex_);
    while (!quit_) {
      wake_.wait_for(lock, interval_, [this] { return quit_ || look_now_; });
      look_now_ = false;
      lock.unlock();
      try {
        look();
      } catch (...) {
        handle_.fail(std::current_exception());
      }
      if (handle_.failed()) {
        if (auto* const board = board_.load(std::memory_order_acquire)) {
          handle_.give_up(*board);
        }
        handle_.stop();
      }
      lock.lock();
    }
  }

  void look() {
    if (handle_.failed()) {
      return;
    }
    auto const oldest = ring_.oldest();
    local_place const& here = oldest.has_value() ? ring_.place(*oldest) : last_;
    listen(here.tag.step, here.unit.data(), here.operation.data());
    if (handle_.failed()) {
      return;
    }
    ncclResult_t const error = handle_.asynchronous_error();
    if (error != ncclSuccess && error != ncclInProgress) {
      throw_asynchronous(error);
    }
    auto const now = operation_ring::clock::now();
    int const absent = absent_for_long(now);
    auto const slot = ring_.overdue(
        now,
        absent < 0 ? limit_ : std::min(limit_, grace),
        [this](std::size_t i) { return before_[i].ready(); },
        [this](std::size_t i) {
          bool const ended = after_[i].ready();
          if (ended) {
            last_ = ring_.place(i);
          }
          return ended;
        });
    if (slot.has_value() && absent >= 0) {
      throw_peer(ring_.place(*slot),
                 "rank " + std::to_string(absent) +
                     " has left, or its process has ended, but rank " +
                     std::to_string(handle_.rank()) + " is at " + at(ring_.place(*slot)),
                 absent);
    }
    if (slot.has_value()) {
      throw_peer(ring_.place(*slot),
                 "rank " + std::to_string(handle_.rank()) + "'s " + at(ring_.place(*slot)) +
                     " has not ended within " + deadline(limit_).text() +
                     " of its begin; another rank has failed, stalled or left");
    }
    if (handle_.inside_for(now) >= limit_) {
      throw_peer(last_,
                 "rank " + std::to_string(handle_.rank()) + " has been inside a call of NCCL for " +
                     deadline(limit_).text() + ", after " + at(last_) +
                     "; another rank has failed, stalled or left");
    }
  }

  [[noreturn]] void throw_asynchronous(ncclResult_t error) const {
    auto const slot = ring_.oldest();
    local_place const& place = slot.has_value() ? ring_.place(*slot) : last_;
    std::string const text = nccl_error_text(error, handle_.get());
    if (error == ncclRemoteError || error == ncclSystemError) {
      throw_peer(place,
                 "rank " + std::to_string(handle_.rank()) + " has lost another rank at " +
                     at(place) + ": " + text);
    }
    throw nccl_error(static_cast<int>(error),
                     "ncclCommGetAsyncError",
                     text + ", at " + at(place) + " of rank " + std::to_string(handle_.rank()));
  }

  [[noreturn]] static void throw_peer(local_place const& place,
                                      std::string const& reason,
                                      int rank = -1) {
    throw peer_error(reason, rank, place.tag.step, place.unit.data(), place.operation.data());
  }

  /// A rank that makes no more calls, once that has been known for a while: what it has called
  /// before has ended here too by then. -1: there is none, or nobody waits.
  [[nodiscard]] int absent_for_long(operation_ring::clock::time_point now) noexcept {
    auto const* const board = board_.load(std::memory_order_acquire);
    int const absent = board != nullptr && ring_.oldest().has_value() ? board->absent_other() : -1;
    if (absent < 0) {
      absent_since_.reset();
      return -1;
    }
    absent_since_ = absent_since_.value_or(now);
    return now - *absent_since_ >= grace ? absent : -1;
  }

  nccl_handle& handle_;
  std::chrono::nanoseconds limit_;
  std::chrono::nanoseconds interval_;
  operation_ring ring_{slots};
  std::vector<gpu::event> before_;
  std::vector<gpu::event> after_;
  std::optional<std::size_t> slot_;  // the rank's thread's
  local_place last_;                 // the watchdog's: the last operation that was seen to end
  std::optional<operation_ring::clock::time_point> absent_since_;  // the watchdog's
  std::atomic<peer_board*> board_{nullptr};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool quit_ = false;
  bool look_now_ = false;
  std::thread thread_;
};

}  // namespace zero::detail
