// SPDX-License-Identifier: Apache-2.0
#include <zero/device/transfer.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace {

/// Its memory is the host's.
struct host_memory {};

/// Has ways of its own.
struct far_memory {
  int uploads = 0;
  int downloads = 0;

  void upload(void* to, void const* from, std::int64_t bytes) {
    ++uploads;
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }

  void download(void* to, void const* from, std::int64_t bytes) {
    ++downloads;
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
};

TEST_CASE_TEMPLATE("what is copied to a device comes back", Device, host_memory, far_memory) {
  Device device;
  std::array<int, 3> const here{1, 2, 3};
  std::array<int, 3> there{};
  std::array<int, 3> back{7, 7, 7};
  zero::upload(device, there.data(), here.data(), sizeof there);
  zero::download(device, back.data(), there.data(), 2 * sizeof(int));
  CHECK(there == here);
  CHECK(back == std::array<int, 3>{1, 2, 7});
}

TEST_CASE("a device's own way is taken") {
  far_memory device;
  int const from = 1;
  int to = 0;
  zero::upload(device, &to, &from, sizeof to);
  CHECK(device.uploads == 1);
  zero::download(device, &to, &from, sizeof to);
  CHECK(device.downloads == 1);
}

}  // namespace
