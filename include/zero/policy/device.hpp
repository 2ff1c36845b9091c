// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/fwd.hpp>
#include <zero/version.hpp>

#include <cstddef>

namespace zero::inline ZERO_ABI {

/// Category of `Host` and `Cuda`: whose memory and kernels an engine uses.
struct device_category {
  using default_policy = Host;  ///< kernels run on the host

  /// Judges how often an engine's list chooses.
  template <std::size_t Count>
  struct check_given_once {
    static constexpr bool value = true;  ///< to be asserted on
    static_assert(Count <= 1, "zero::ZeroEngine: a device was given more than once; keep one.");
  };
};

}  // namespace zero::inline ZERO_ABI
