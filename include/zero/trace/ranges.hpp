// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Ranges for NVIDIA's profilers: a lease and an operation each. Defined as nothing unless
/// ZERO_ENABLE_NVTX is set to 1 before any header of this library, alike in all translation units;
/// then `<nvtx3/nvToolsExt.h>` of the CUDA Toolkit is needed.

#if !defined(ZERO_ENABLE_NVTX)
/// Whether ranges are made for NVIDIA's profilers: 0 or 1.
#  define ZERO_ENABLE_NVTX 0
#endif

#if ZERO_ENABLE_NVTX
#  include <nvtx3/nvToolsExt.h>
#endif

#include <zero/version.hpp>

#include <cstdint>
#include <cstdio>

namespace zero::inline ZERO_ABI {

/// A range from construction to destruction, on the calling thread.
class profiler_range {
 public:
#if ZERO_ENABLE_NVTX
  /// Begins a range that bears both names, of 95 characters at most.
  profiler_range(char const* name, char const* unit) {
    char text[96];
    std::snprintf(text, sizeof text, "zero: %s %s", name, unit);
    nvtxRangePushA(text);
  }

  ~profiler_range() { nvtxRangePop(); }
#else
  /// Makes nothing.
  profiler_range(char const* /*name*/, char const* /*unit*/) {}

  ~profiler_range() = default;
#endif
  profiler_range(profiler_range const&) = delete;
  profiler_range& operator=(profiler_range const&) = delete;
};

/// A range that need not end where it began: a lease's. 0 is none.
[[nodiscard]] inline std::uint64_t start_profiler_range([[maybe_unused]] char const* name,
                                                        [[maybe_unused]] char const* unit) {
#if ZERO_ENABLE_NVTX
  char text[96];
  std::snprintf(text, sizeof text, "zero: %s %s", name, unit);
  return nvtxRangeStartA(text);
#else
  return 0;
#endif
}

/// Ends what `start_profiler_range` gave.
inline void end_profiler_range([[maybe_unused]] std::uint64_t range) {
#if ZERO_ENABLE_NVTX
  nvtxRangeEnd(range);
#endif
}

}  // namespace zero::inline ZERO_ABI
