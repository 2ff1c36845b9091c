// SPDX-License-Identifier: Apache-2.0
// expected-error: a body is copied byte by byte
#include <zero/device/host.hpp>

#include <string>

void put(zero::host_device& device, std::string const& text) {
#ifdef ZERO_CONTROL
  device.enqueue(zero::queue::comm, [at = &text](zero::host_stream) { (void)at->size(); });
#else
  device.enqueue(zero::queue::comm, [text](zero::host_stream) { (void)text.size(); });
#endif
}
