// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// The version of the library. The build reads it from these three lines, so this is its only
/// place. Before 1.0 a new minor version may break an interface; the change log says how to move
/// on.

/// Raised when interfaces, numerics or the order of communication change in a way that breaks
/// users.
#define ZERO_VERSION_MAJOR 0
/// Raised when something is added; before 1.0 also when something breaks.
#define ZERO_VERSION_MINOR 1
/// Raised when something is mended.
#define ZERO_VERSION_PATCH 0

#define ZERO_DETAIL_ABI_OF(major, minor, patch) v##major##_##minor##_##patch
#define ZERO_DETAIL_ABI(major, minor, patch) ZERO_DETAIL_ABI_OF(major, minor, patch)

/// The inline namespace that all names of the library live in, e.g. `v0_1_0`. Nobody writes it; it
/// keeps two versions of the headers apart that meet in one program, in two shared libraries, say:
/// their functions have different symbols, so that neither runs the other's code on its own types.
#define ZERO_ABI ZERO_DETAIL_ABI(ZERO_VERSION_MAJOR, ZERO_VERSION_MINOR, ZERO_VERSION_PATCH)

namespace zero::inline ZERO_ABI {

/// `ZERO_VERSION_MAJOR` as a constant.
inline constexpr int version_major = ZERO_VERSION_MAJOR;
/// `ZERO_VERSION_MINOR` as a constant.
inline constexpr int version_minor = ZERO_VERSION_MINOR;
/// `ZERO_VERSION_PATCH` as a constant.
inline constexpr int version_patch = ZERO_VERSION_PATCH;

}  // namespace zero::inline ZERO_ABI
