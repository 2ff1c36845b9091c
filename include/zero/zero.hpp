// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Everything that needs no CUDA compiler.

#include <zero/version.hpp>
