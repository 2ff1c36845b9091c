// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/version.hpp>

#include <cstdint>
#include <cstring>

namespace zero::inline ZERO_ABI {

/// Copies `bytes` from the host to device memory, and waits. For construction and whole-parameter
/// access, never inside a step. A device whose memory is not the host's has a member `upload`.
template <class Device>
void upload(Device& device, void* to, void const* from, std::int64_t bytes) {
  if constexpr (requires { device.upload(to, from, bytes); }) {
    device.upload(to, from, bytes);
  } else {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
}

/// Copies `bytes` from device memory to the host, and waits.
template <class Device>
void download(Device& device, void* to, void const* from, std::int64_t bytes) {
  if constexpr (requires { device.download(to, from, bytes); }) {
    device.download(to, from, bytes);
  } else {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
}

}  // namespace zero::inline ZERO_ABI
