// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/device/gpu/error.hpp>
#include <zero/version.hpp>

#include <cuda_runtime_api.h>

#include <utility>

namespace zero::inline ZERO_ABI::gpu {

/// Whether an event carries a time stamp. Ordering needs none, and is cheaper without.
enum class event_timing : unsigned char { off, on };

/// Owns one event of the current device.
///
/// A wait takes the latest record at the time of the wait call; an event that was never recorded is
/// complete. Move-only; a moved-from event owns nothing.
class event {
 public:
  /// Owns nothing.
  event() = default;

  /// @throws cuda_error
  explicit event(event_timing timing) {
    check_cuda(
        cudaEventCreateWithFlags(
            &handle_, timing == event_timing::on ? cudaEventDefault : cudaEventDisableTiming),
        "cudaEventCreateWithFlags");
  }

  /// Takes over what `other` has, which is left empty.
  event(event&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)) {}

  /// Changes places with `other`.
  event& operator=(event&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  ~event() {
    if (handle_ != nullptr) {
      ignore_at_exit(cudaEventDestroy(handle_));
    }
  }

  /// Marks the work queued in `queue` so far. @throws cuda_error
  void record(cudaStream_t queue) const {
    check_cuda(cudaEventRecord(handle_, queue), "cudaEventRecord");
  }

  /// Makes later work of `queue` wait for the latest record; the host does not wait.
  /// @throws cuda_error
  void make_wait(cudaStream_t queue) const {
    check_cuda(cudaStreamWaitEvent(queue, handle_, cudaEventWaitDefault), "cudaStreamWaitEvent");
  }

  /// Blocks the calling thread until the marked work has ended: for worker threads, tests and
  /// results, never for a step. @throws cuda_error
  void synchronize() const { check_cuda(cudaEventSynchronize(handle_), "cudaEventSynchronize"); }

  /// Whether the marked work has ended. @throws cuda_error
  [[nodiscard]] bool ready() const {
    auto const code = cudaEventQuery(handle_);
    if (code == cudaErrorNotReady) {
      return false;
    }
    check_cuda(code, "cudaEventQuery");
    return true;
  }

  /// The handle; stays owned.
  [[nodiscard]] cudaEvent_t get() const noexcept { return handle_; }

  /// Gives the handle up; the caller destroys it.
  [[nodiscard]] cudaEvent_t release() noexcept { return std::exchange(handle_, nullptr); }

  /// Takes ownership of a handle made elsewhere.
  [[nodiscard]] static event from_native_handle(cudaEvent_t handle) noexcept {
    event result;
    result.handle_ = handle;
    return result;
  }

 private:
  cudaEvent_t handle_ = nullptr;
};

/// Milliseconds between two timed events, both complete. @throws cuda_error
[[nodiscard]] inline float milliseconds_between(event const& from, event const& to) {
  float result = 0;
  check_cuda(cudaEventElapsedTime(&result, from.get(), to.get()), "cudaEventElapsedTime");
  return result;
}

}  // namespace zero::inline ZERO_ABI::gpu
