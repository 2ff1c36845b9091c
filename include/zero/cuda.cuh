// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Everything, for translation units that nvcc compiles.

#include <zero/device/gpu/accumulate.cuh>
#include <zero/device/gpu/cast.cuh>
#include <zero/device/gpu/control.cuh>
#include <zero/device/gpu/cuda.hpp>
#include <zero/device/gpu/device.hpp>
#include <zero/device/gpu/device_guard.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/device/gpu/event.hpp>
#include <zero/device/gpu/graph.hpp>
#include <zero/device/gpu/memory.hpp>
#include <zero/device/gpu/norm.cuh>
#include <zero/device/gpu/stream.hpp>
#include <zero/device/gpu/sum.cuh>
#include <zero/zero.hpp>
