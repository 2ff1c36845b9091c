// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/device/gpu/error.hpp>
#include <zero/version.hpp>

#include <cuda_runtime_api.h>

namespace zero::inline ZERO_ABI::gpu {

/// Makes one device the calling thread's current one and restores the caller's when it dies.
///
/// Every library call that touches the runtime stands under one, so that the caller's current
/// device is never changed. Costs one thread-local read when the device is current already.
class device_guard {
 public:
  /// @param ordinal the device to work on
  /// @throws cuda_error when there is no such device
  explicit device_guard(int ordinal) {
    check_cuda(cudaGetDevice(&previous_), "cudaGetDevice");
    if (previous_ != ordinal) {
      check_cuda(cudaSetDevice(ordinal), "cudaSetDevice");
      changed_ = true;
    }
  }

  device_guard(device_guard const&) = delete;
  device_guard& operator=(device_guard const&) = delete;

  ~device_guard() {
    if (changed_) {
      ignore_at_exit(cudaSetDevice(previous_));
    }
  }

 private:
  int previous_ = 0;
  bool changed_ = false;
};

}  // namespace zero::inline ZERO_ABI::gpu
