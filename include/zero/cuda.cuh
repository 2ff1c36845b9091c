// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Everything, for translation units that nvcc compiles.

#include <zero/zero.hpp>
