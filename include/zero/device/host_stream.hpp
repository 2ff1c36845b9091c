// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/version.hpp>

namespace zero::inline ZERO_ABI {

/// The stream of the host: work handed to it is done by the calling thread before the call returns.
///
/// It stands where a GPU has a stream handle, so that kernels and collectives have one signature on
/// every device. It holds nothing and costs nothing.
struct host_stream {
  friend constexpr bool operator==(host_stream, host_stream) noexcept { return true; }
};

}  // namespace zero::inline ZERO_ABI
