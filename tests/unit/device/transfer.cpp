// SPDX-License-Identifier: Apache-2.0
#include <zero/device/transfer.hpp>

#include "tests/support/far_device.hpp"

#include <zero/device/host.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <exception>
#include <stdexcept>

namespace {

/// Counts what goes through its own ways.
struct counting_device : zero::test::far_device {
  using far_device::far_device;

  int uploads = 0;
  int downloads = 0;

  void upload(void* to, void const* from, std::int64_t bytes) {
    ++uploads;
    far_device::upload(to, from, bytes);
  }

  void download(void* to, void const* from, std::int64_t bytes) {
    ++downloads;
    far_device::download(to, from, bytes);
  }
};

TEST_CASE_TEMPLATE("what is copied to a device comes back",
                   Device,
                   zero::host_device,
                   zero::test::far_device) {
  Device device(0);
  std::array<int, 3> const here{1, 2, 3};
  std::array<int, 3> back{7, 7, 7};
  void* const there = device.allocate(sizeof here, "test");
  zero::upload(device, there, here.data(), sizeof here);
  zero::download(device, back.data(), there, 2 * sizeof(int));
  CHECK(back == std::array<int, 3>{1, 2, 7});
  device.deallocate(there, sizeof here);
}

TEST_CASE("a device's own way is taken, with its failures") {
  counting_device device(0);
  int number = 1;
  void* const there = device.allocate(sizeof number, "test");
  zero::upload(device, there, &number, sizeof number);
  CHECK(device.uploads == 1);
  zero::download(device, &number, there, sizeof number);
  CHECK(device.downloads == 1);
  device.fail(std::make_exception_ptr(std::runtime_error("gone")));
  CHECK_THROWS_WITH(zero::upload(device, there, &number, sizeof number), "gone");
  device.deallocate(there, sizeof number);
}

}  // namespace
