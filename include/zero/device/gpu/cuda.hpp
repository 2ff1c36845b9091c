// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/device/gpu/memory.hpp>
#include <zero/policy/concepts.hpp>
#include <zero/policy/device.hpp>
#include <zero/version.hpp>

#include <cuda_runtime_api.h>

namespace zero::inline ZERO_ABI {

class cuda_device;
struct gpu_kernels;

/// What a CUDA device may be told. All of it has a default that suits one GPU a process.
struct cuda_options {
  /// The device to work on; -1: the one that is current on the constructing thread.
  int ordinal = -1;

  /// The stream that the user's kernels run on; null: the legacy default stream, which is where a
  /// launch without a stream goes (it cannot be captured into a graph). It must belong to `ordinal`
  /// and outlive the engine.
  cudaStream_t compute_stream = nullptr;

  /// Where pools come from; none: `cudaMalloc`, once a pool.
  gpu::allocator allocator = {};
};

/// The device policy of NVIDIA GPUs of compute capability 8.0 and newer, one an engine.
///
/// The engine's queues are streams: the user's own for compute, two non-blocking ones of the
/// library for communication and for sums. They are ordered by events alone; nothing of a step
/// waits on the host. The caller's current device is restored by every call.
///
/// Needs `<zero/cuda.cuh>` and nvcc in the translation unit that instantiates the engine; this
/// header itself is plain C++ over the runtime API.
struct Cuda {
  using policy_category = device_category;
  using device = cuda_device;    ///< memory, queues and events; defined in device/gpu/device.hpp
  using kernels = gpu_kernels;   ///< what the queues run; defined in device/gpu/kernels.cuh
  using options = cuda_options;  ///< what the constructor of the device takes
};

static_assert(policy_of<Cuda, device_category>);

}  // namespace zero::inline ZERO_ABI
