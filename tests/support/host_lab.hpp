// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/device/host.hpp>
#include <zero/device/host_kernels.hpp>
#include <zero/device/host_stream.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>

namespace zero::test {

/// Makes host devices for the laws of devices.
struct host_lab {
  host_options options;

  [[nodiscard]] std::unique_ptr<host_device> make(int events) const {
    return std::make_unique<host_device>(events, options);
  }

  [[nodiscard]] auto slow() const {
    return [](host_stream) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
  }

  void write(host_device& /*device*/, void* to, void const* from, std::int64_t bytes) const {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }

  void read(host_device& /*device*/, void* to, void const* from, std::int64_t bytes) const {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
};

}  // namespace zero::test
