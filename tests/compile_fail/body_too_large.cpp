// SPDX-License-Identifier: Apache-2.0
// expected-error: a body is at most 192 bytes
#include <zero/device/host.hpp>

#include <array>

void put(zero::host_device& device) {
#ifdef ZERO_CONTROL
  std::array<char, 192> const bytes{};
#else
  std::array<char, 193> const bytes{};
#endif
  device.enqueue(zero::queue::comm, [bytes](zero::host_stream) { (void)bytes.size(); });
}
