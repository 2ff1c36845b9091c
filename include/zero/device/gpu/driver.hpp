// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/version.hpp>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <string>

namespace zero::inline ZERO_ABI::gpu {

/// A function of the CUDA driver, found through the runtime, so that nobody has to link libcuda.
///
/// @tparam Function the type of the function's pointer, `decltype(&cuName)`
/// @param  name     without the suffix of a version: the one that the headers declare is meant
/// @throws cuda_error the driver does not have it
template <class Function>
[[nodiscard]] Function driver_function(char const* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  check_cuda(
      cudaGetDriverEntryPointByVersion(name, &found, CUDART_VERSION, cudaEnableDefault, &status),
      "cudaGetDriverEntryPointByVersion");
#else
  check_cuda(cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &status),
             "cudaGetDriverEntryPoint");
#endif
  if (status != cudaDriverEntryPointSuccess) {
    throw cuda_error(static_cast<int>(cudaErrorSymbolNotFound),
                     "cudaGetDriverEntryPoint",
                     std::string(name) + " is not in this driver; update it");
  }
  return reinterpret_cast<Function>(found);
}

/// Throws what a failed call of the driver deserves.
/// @throws cuda_error
inline void check_driver(CUresult code,
                         char const* call,
                         source_location where = source_location::current()) {
  if (code != CUDA_SUCCESS) [[unlikely]] {
    // The driver and the runtime number the common errors alike.
    auto const same = static_cast<cudaError_t>(code);
    throw cuda_error(static_cast<int>(code),
                     call,
                     std::string(cudaGetErrorName(same)) + ", " + cudaGetErrorString(same),
                     where);
  }
}

}  // namespace zero::inline ZERO_ABI::gpu
