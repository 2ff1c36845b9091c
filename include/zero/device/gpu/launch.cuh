// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/version.hpp>

#include <cuda_runtime.h>

#include <concepts>
#include <cstdint>
#include <nv/target>

namespace zero::inline ZERO_ABI::gpu {

/// What a kernel that is launched with `launch_early` does first: waits until the kernel ahead of
/// it in the stream has ended and its writes can be seen. Costs nothing after a plain launch.
__device__ inline void wait_for_previous_kernel() {
  NV_IF_TARGET(NV_PROVIDES_SM_90, (cudaGridDependencySynchronize();))
}

/// The launch of `blocks` > 0 thread blocks, with at most one attribute.
template <class... Parameters, class... Arguments>
  requires(sizeof...(Parameters) == sizeof...(Arguments) &&
           (std::convertible_to<Arguments, Parameters> && ...))
void launch_with(cudaLaunchAttribute* attribute,
                 char const* name,
                 void (*kernel)(Parameters...),
                 std::int64_t blocks,
                 int threads,
                 cudaStream_t stream,
                 Arguments const&... arguments) {
  precondition(blocks <= 0x7fff'ffff, "zero: more than 2^31 - 1 thread blocks; split the range");
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = dim3(static_cast<unsigned>(blocks));
  configuration.blockDim = dim3(static_cast<unsigned>(threads));
  configuration.stream = stream;
  configuration.attrs = attribute;
  configuration.numAttrs = attribute != nullptr ? 1 : 0;
  check_cuda(cudaLaunchKernelEx(&configuration, kernel, static_cast<Parameters>(arguments)...),
             name);
}

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
template <class Kernel, class... Arguments>
void launch(char const* name,
            Kernel* kernel,
            std::int64_t blocks,
            int threads,
            cudaStream_t stream,
            Arguments const&... arguments) {
  if (blocks > 0) {
    launch_with(nullptr, name, kernel, blocks, threads, stream, arguments...);
  }
}

/// Whether a GPU runs code that was compiled for compute capability 9.0 or newer: of what the
/// program has, the driver takes the newest that the GPU can run. Code of 8.0 does not wait for the
/// kernel ahead of it, wherever it runs.
/// @param capability of the GPU, e.g. 90
[[nodiscard]] constexpr bool runs_code_of_sm_90([[maybe_unused]] int capability) noexcept {
  bool result = false;
#ifdef __CUDA_ARCH_LIST__
  for (int const architecture : {__CUDA_ARCH_LIST__}) {  // ascending, 900 for 9.0
    result = architecture / 10 <= capability ? architecture >= 900 : result;
  }
#endif
  return result;
}

/// The same for a kernel that begins with `wait_for_previous_kernel`: on GPUs of compute capability
/// 9.0 and newer, where it was compiled for them, its thread blocks are brought to the
/// multiprocessors while the kernel ahead of it ends, which hides a microsecond or two of each
/// launch, in graphs as well ("programmatic dependent launch"). Order and results are those of
/// `launch`.
template <class Kernel, class... Arguments>
void launch_early(char const* name,
                  Kernel* kernel,
                  std::int64_t blocks,
                  int threads,
                  cudaStream_t stream,
                  Arguments const&... arguments) {
  if (blocks > 0) {
    int device = 0;
    int major = 0;
    int minor = 0;
    check_cuda(cudaGetDevice(&device), "cudaGetDevice");
    check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
               "cudaDeviceGetAttribute");
    check_cuda(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
               "cudaDeviceGetAttribute");
    bool const waits = runs_code_of_sm_90(10 * major + minor);
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    launch_with(waits ? &early : nullptr, name, kernel, blocks, threads, stream, arguments...);
  }
}

/// Loads a kernel onto the current device, so that its first launch allocates nothing.
/// @throws cuda_error the program has no code for this GPU
template <class Kernel>
void preload(char const* name, Kernel* kernel) {
  cudaFuncAttributes attributes{};
  check_cuda(cudaFuncGetAttributes(&attributes, reinterpret_cast<void const*>(kernel)), name);
}

}  // namespace zero::inline ZERO_ABI::gpu
