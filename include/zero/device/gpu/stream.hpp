// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/device/gpu/error.hpp>
#include <zero/version.hpp>

#include <cuda_runtime_api.h>

#include <utility>

namespace zero::inline ZERO_ABI::gpu {

/// Whether what a stream gets now is recorded for a graph and not run.
/// @throws cuda_error the legacy default stream, while a stream that synchronises with it is
///         captured
[[nodiscard]] inline bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check_cuda(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

/// How urgently the blocks of a stream's kernels are placed on the multiprocessors.
enum class stream_priority : unsigned char { normal, greatest };

/// Owns one stream of the current device. It never synchronises with the legacy default stream.
///
/// The non-owning twin is `cudaStream_t` itself. Move-only; a moved-from stream owns nothing and
/// `get` returns null.
class stream {
 public:
  /// Owns nothing.
  stream() = default;

  /// @param priority `greatest` for communication, whose kernels should not queue behind long ones
  /// @throws cuda_error
  explicit stream(stream_priority priority) {
    int least = 0;
    int greatest = 0;
    check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest),
               "cudaDeviceGetStreamPriorityRange");
    check_cuda(
        cudaStreamCreateWithPriority(&handle_,
                                     cudaStreamNonBlocking,
                                     priority == stream_priority::greatest ? greatest : least),
        "cudaStreamCreateWithPriority");
  }

  /// Takes over what `other` has, which is left empty.
  stream(stream&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)) {}

  /// Changes places with `other`.
  stream& operator=(stream&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  /// Work that is queued still runs; the runtime frees the stream when it has ended.
  ~stream() {
    if (handle_ != nullptr) {
      ignore_at_exit(cudaStreamDestroy(handle_));
    }
  }

  /// The handle; stays owned.
  [[nodiscard]] cudaStream_t get() const noexcept { return handle_; }

  /// Gives the handle up; the caller destroys it.
  [[nodiscard]] cudaStream_t release() noexcept { return std::exchange(handle_, nullptr); }

  /// Takes ownership of a handle made elsewhere.
  [[nodiscard]] static stream from_native_handle(cudaStream_t handle) noexcept {
    stream result;
    result.handle_ = handle;
    return result;
  }

 private:
  cudaStream_t handle_ = nullptr;
};

}  // namespace zero::inline ZERO_ABI::gpu
