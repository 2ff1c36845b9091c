// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/device/abilities.hpp>
#include <zero/device/concepts.hpp>
#include <zero/version.hpp>

#include <cstdint>
#include <cstring>

namespace zero::inline ZERO_ABI {

/// Copies `bytes` from the host to device memory, and waits. For construction and whole-parameter
/// access, never inside a step. A device whose memory is not the host's does it itself, see
/// `separate_memory_device`; into the host's the calling thread copies.
template <device Device>
void upload(Device& of, void* to, void const* from, std::int64_t bytes) {
  if constexpr (separate_memory_device<Device>) {
    of.upload(to, from, bytes);
  } else {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
}

/// Copies `bytes` from device memory to the host, and waits.
template <device Device>
void download(Device& of, void* to, void const* from, std::int64_t bytes) {
  if constexpr (separate_memory_device<Device>) {
    of.download(to, from, bytes);
  } else {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
}

}  // namespace zero::inline ZERO_ABI
