// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Everything, for translation units that nvcc compiles; NCCL's part where its header is found.

#include <zero/core/config.hpp>

#if !ZERO_HAS_CUDA_COMPILER()
#  error \
      "zero: <zero/cuda.cuh> needs nvcc and a file that ends in .cu; plain C++ includes <zero/zero.hpp>"
#else

#  include <zero/comm/gpu/local_gpu.cuh>
#  include <zero/comm/gpu/local_gpu_communicator.cuh>
#  include <zero/comm/peer/gpu/communicator.hpp>
#  include <zero/comm/peer/gpu/transport.hpp>
#  include <zero/device/gpu/accumulate.cuh>
#  include <zero/device/gpu/cast.cuh>
#  include <zero/device/gpu/control.cuh>
#  include <zero/device/gpu/cuda.hpp>
#  include <zero/device/gpu/device.hpp>
#  include <zero/device/gpu/device_guard.hpp>
#  include <zero/device/gpu/driver.hpp>
#  include <zero/device/gpu/error.hpp>
#  include <zero/device/gpu/event.hpp>
#  include <zero/device/gpu/graph.hpp>
#  include <zero/device/gpu/kernels.cuh>
#  include <zero/device/gpu/launch.cuh>
#  include <zero/device/gpu/memory.hpp>
#  include <zero/device/gpu/norm.cuh>
#  include <zero/device/gpu/peer_reading.hpp>
#  include <zero/device/gpu/peer_sum.cuh>
#  include <zero/device/gpu/stamps.hpp>
#  include <zero/device/gpu/stream.hpp>
#  include <zero/device/gpu/sum.cuh>
#  include <zero/device/gpu/update.cuh>
#  include <zero/device/gpu/vectors.cuh>
#  include <zero/zero.hpp>

#  if __has_include(<nccl.h>)
#    include <zero/comm/nccl/communicator.hpp>
#    include <zero/comm/nccl/error.hpp>
#    include <zero/comm/nccl/memory.hpp>
#    include <zero/comm/nccl/mpi.hpp>
#    include <zero/comm/nccl/nccl.hpp>
#    include <zero/comm/nccl/options.hpp>
#  endif

#endif
