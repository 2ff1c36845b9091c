// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>
#include <zero/version.hpp>

#include <cuda_runtime_api.h>

#include <string>

namespace zero::inline ZERO_ABI {

namespace detail {

/// What to do about errors that have one cause: the rest of a sentence, or nothing.
[[nodiscard]] inline char const* remedy(cudaError_t code) noexcept {
  switch (code) {
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
      return "; no GPU can be used here, or its driver is older than the toolkit: nvidia-smi shows "
             "both";
    case cudaErrorNoKernelImageForDevice:
      return "; the program has no code for this GPU: compile with nvcc -arch=native, or set "
             "CMAKE_CUDA_ARCHITECTURES";
    default:
      return "";
  }
}

}  // namespace detail

/// Throws what a failed call of the CUDA runtime deserves, and returns when it succeeded.
///
/// The last error is cleared first, so that a caught exception does not surface again in a later,
/// innocent call. Never used in a destructor: see `gpu::ignore_at_exit`.
///
/// @param code   what the call returned
/// @param call   the call's name, a string literal: "cudaMalloc", or the name of a kernel
/// @param where  the caller's line
/// @throws cuda_error carrying code, call and line
inline void check_cuda(cudaError_t code,
                       char const* call,
                       source_location where = source_location::current()) {
  if (code != cudaSuccess) [[unlikely]] {
    static_cast<void>(cudaGetLastError());
    throw cuda_error(static_cast<int>(code),
                     call,
                     std::string(cudaGetErrorName(code)) + ", " + cudaGetErrorString(code) +
                         detail::remedy(code),
                     where);
  }
}

namespace gpu {

/// The form of `check_cuda` for destructors and `noexcept` paths: clears the last error and keeps
/// quiet, because the runtime may be unloading and nobody could act on the failure.
inline void ignore_at_exit(cudaError_t code) noexcept {
  if (code != cudaSuccess && code != cudaErrorCudartUnloading) {
    static_cast<void>(cudaGetLastError());
  }
}

}  // namespace gpu

}  // namespace zero::inline ZERO_ABI
