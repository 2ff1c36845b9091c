// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>
#include <zero/device/gpu/error.hpp>

#include <cuda_runtime.h>

#include <concepts>
#include <cstdint>

namespace zero::detail {

/// Puts one kernel into a stream of the current device; nothing for zero blocks. The launch's own
/// return code is looked at, so that an error the user left behind is not taken for ours.
///
/// @param name       of the kernel, for the error
/// @param kernel     the kernel
/// @param blocks     thread blocks, in one dimension
/// @param threads    threads a block
/// @param stream     where it takes its turn
/// @param arguments  converted to what the kernel takes
/// @throws cuda_error
template <class... Parameters, class... Arguments>
  requires(sizeof...(Parameters) == sizeof...(Arguments) &&
           (std::convertible_to<Arguments, Parameters> && ...))
void launch(char const* name,
            void (*kernel)(Parameters...),
            std::int64_t blocks,
            int threads,
            cudaStream_t stream,
            Arguments const&... arguments) {
  if (blocks == 0) {
    return;
  }
  expects(blocks <= 0x7fff'ffff, "zero: more than 2^31 - 1 thread blocks; split the range");
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = dim3(static_cast<unsigned>(blocks));
  configuration.blockDim = dim3(static_cast<unsigned>(threads));
  configuration.stream = stream;
  check_cuda(cudaLaunchKernelEx(&configuration, kernel, static_cast<Parameters>(arguments)...),
             name);
}

/// Loads a kernel onto the current device, so that its first launch allocates nothing.
/// @throws cuda_error the program has no code for this GPU
template <class... Parameters>
void preload(char const* name, void (*kernel)(Parameters...)) {
  cudaFuncAttributes attributes{};
  check_cuda(cudaFuncGetAttributes(&attributes, reinterpret_cast<void const*>(kernel)), name);
}

}  // namespace zero::detail
