// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>
#include <zero/comm/detail/deadline.hpp>
#include <zero/comm/detail/local_text.hpp>
#include <zero/comm/detail/operation_ring.hpp>
#include <zero/comm/nccl/detail/handle.hpp>
#include <zero/comm/nccl/detail/watched_stream.hpp>
#include <zero/comm/nccl/error.hpp>
#include <zero/comm/nccl/options.hpp>
#include <zero/comm/peer/news.hpp>
#include <zero/core/error.hpp>
#include <zero/device/gpu/device_guard.hpp>
#include <zero/device/gpu/stream.hpp>
#include <zero/version.hpp>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// The thread of a rank that looks after its communicator: it queries NCCL's asynchronous error and
/// two events an operation (`watched_stream`), and stops the communicator after a failure. It waits
/// for nothing and enqueues nothing. Captures of other threads are not disturbed, because it
/// exchanges its capture mode; operations inside a capture are not watched, their graph's launch
/// may be.
class nccl_watchdog {
 public:
  nccl_watchdog(nccl_handle& handle, nccl_options const& options)
      : handle_(handle),
        limit_(options.limit),
        interval_(options.watch_interval) {
    gpu::device_guard const guard(handle_.device());
    watched_ = std::vector<watched_stream>(streams);
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

  /// Marks the begin of an operation in a stream.
  /// @param graph  it is a graph, which may hold other work as well
  /// @throws cuda_error
  void begin(cudaStream_t stream, collective_tag const& tag, collective kind, bool graph = false) {
    current_ = gpu::is_captured(stream) ? nullptr : &of(stream);
    if (current_ != nullptr) {
      current_->begin(stream, tag, kind, graph);
    }
  }

  /// Marks its end. @throws cuda_error
  void end(cudaStream_t stream) {
    if (current_ != nullptr && !gpu::is_captured(stream)) {
      current_->end(stream);
    }
    current_ = nullptr;
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

  /// This rank makes no more calls: says so in the news, if there are any, when those that it has
  /// made have ended.
  void leave() noexcept {
    leaving_.store(true, std::memory_order_release);
    wake();
  }

  /// Whether another rank has told of its failure, and this one does not know it yet. A few atomic
  /// reads.
  [[nodiscard]] bool has_news() const noexcept {
    auto const* const news = handle_.news();
    return news != nullptr && news->any_failed() && !handle_.failed();
  }

  /// Makes this rank fail of the news, if there are any.
  /// @param step,unit,operation where this rank is
  void listen(std::int64_t step, char const* unit, char const* operation) {
    if (has_news()) {
      handle_.news()->hear(
          step, unit, operation, [this](std::exception_ptr error, int origin, std::string why) {
            handle_.fail(std::move(error), origin, std::move(why));
          });
    }
  }

  /// Whether every watched operation has ended.
  [[nodiscard]] bool idle() const noexcept { return oldest() == nullptr; }

 private:
  static constexpr std::size_t streams = 4;

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
        say_left();
      } catch (peer_error const& error) {
        handle_.fail(std::current_exception(), error.rank(), error.what());
      } catch (...) {
        handle_.fail(std::current_exception());
      }
      if (handle_.failed()) {
        handle_.stop();
      }
      lock.lock();
    }
  }

  void say_left() noexcept {
    auto* const news = handle_.news();
    if (news != nullptr && leaving_.load(std::memory_order_acquire) && !handle_.failed() &&
        idle()) {
      news->leave();
    }
  }

  void look() {
    if (handle_.failed()) {
      return;
    }
    local_place const* const pending = oldest();
    local_place const& here = pending != nullptr ? *pending : last_;
    listen(here.tag.step, here.unit.data(), here.operation.data());
    if (handle_.failed()) {
      return;
    }
    ncclResult_t const error = handle_.asynchronous_error();
    if (error != ncclSuccess && error != ncclInProgress) {
      throw_asynchronous(error);
    }
    auto const now = operation_ring::clock::now();
    auto* const news = handle_.news();
    int const gone = news != nullptr ? news->gone_for_long(now) : -1;
    for (auto& stream : watched_) {
      if (auto const* const late = stream.overdue(now, limit_, last_)) {
        throw_peer(
            *late,
            "rank " + std::to_string(handle_.rank()) + "'s " + at(*late) +
                " has not ended within " + deadline(limit_).text() +
                " of its begin; another rank has failed, stalled or left" +
                (stream.oldest_is_graph() ? ", or the graph takes longer than nccl_options::limit"
                                          : ""));
      }
      auto const* const late = gone < 0 ? nullptr : stream.overdue(now, peer_news::grace, last_);
      if (late != nullptr && !stream.oldest_is_graph()) {
        news->throw_departure(*late, gone);
      }
    }
    auto const* const wanting = oldest();  // what has ended is no longer there
    if (wanting != nullptr && news != nullptr) {
      news->expect_no_death(*wanting);
    }
    if (handle_.inside_for(now) >= limit_) {
      throw_peer(last_,
                 "rank " + std::to_string(handle_.rank()) + " has been inside a call of NCCL for " +
                     deadline(limit_).text() + ", after " + at(last_) +
                     "; another rank has failed, stalled or left");
    }
  }

  [[noreturn]] void throw_asynchronous(ncclResult_t error) const {
    local_place const* const pending = oldest();
    local_place const& place = pending != nullptr ? *pending : last_;
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

  [[noreturn]] static void throw_peer(local_place const& place, std::string const& reason) {
    throw peer_error(reason, -1, place.tag.step, place.unit.data(), place.operation.data());
  }

  /// Where a stream is watched: at its own place, or at one where nothing is under way; when there
  /// is none, at the last place, together with another stream.
  [[nodiscard]] watched_stream& of(cudaStream_t stream) noexcept {
    std::size_t place = 0;
    while (place < streams && handles_[place] != stream) {
      ++place;
    }
    if (place == streams) {
      place = 0;
      while (place < streams - 1 && watched_[place].oldest() != nullptr) {
        ++place;
      }
      handles_[place] = stream;
    }
    return watched_[place];
  }

  /// An operation that has not been seen to end and before which its stream has none, or null.
  [[nodiscard]] local_place const* oldest() const noexcept {
    for (auto const& stream : watched_) {
      if (auto const* const place = stream.oldest()) {
        return place;
      }
    }
    return nullptr;
  }

  nccl_handle& handle_;
  std::chrono::nanoseconds limit_;
  std::chrono::nanoseconds interval_;
  std::vector<watched_stream> watched_;
  std::array<cudaStream_t, streams> handles_{};  // the rank's thread's
  watched_stream* current_ = nullptr;            // likewise
  local_place last_;  // the watchdog's: the last operation that was seen to end
  std::atomic<bool> leaving_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool quit_ = false;
  bool look_now_ = false;
  std::thread thread_;
};

}  // namespace zero::inline ZERO_ABI::detail
