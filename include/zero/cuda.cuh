// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Everything, for translation units that nvcc compiles; NCCL's part where its header is found.

#include <zero/comm/local_gpu.cuh>
#include <zero/device/gpu/cuda.hpp>
#include <zero/device/gpu/device.hpp>
#include <zero/device/gpu/kernels.cuh>
#include <zero/zero.hpp>

#if __has_include(<nccl.h>)
#  include <zero/comm/nccl.hpp>
#endif
