// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/queue.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>

namespace zero::inline ZERO_ABI::detail {

/// Fills device memory on the compute queue.
template <class Device>
void enqueue_fill(Device& device, std::byte* address, int byte, std::int64_t bytes) {
  using stream = typename Device::stream_type;
  device.enqueue(queue::compute, [address, byte, bytes](stream s) {
    Device::kernels::fill(s, address, byte, bytes);
  });
}

}  // namespace zero::inline ZERO_ABI::detail
