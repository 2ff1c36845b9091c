// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Everything, for translation units that nvcc compiles.

#include <zero/zero.hpp>
#include <zero/device/gpu/device_guard.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/device/gpu/event.hpp>
#include <zero/device/gpu/graph.hpp>
#include <zero/device/gpu/memory.hpp>
#include <zero/device/gpu/stream.hpp>
