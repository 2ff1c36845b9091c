// SPDX-License-Identifier: Apache-2.0
#include <zero/device/stamps.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

TEST_CASE("stamps of the host tell the time between them") {
  zero::time_stamps<zero::host_stream> stamps(2);
  stamps.set(0, {});
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  stamps.set(1, {});
  CHECK(stamps.microseconds(0, 1) >= 2000);
  CHECK(stamps.microseconds(1, 0) == -stamps.microseconds(0, 1));
}
