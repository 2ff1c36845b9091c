// SPDX-License-Identifier: Apache-2.0
#include <zero/device/gpu/driver.hpp>

#include "tests/support/text.hpp"

#include <zero/core/error.hpp>

#include <doctest/doctest.h>

#include <cuda.h>

#include <string>

using zero::gpu::check_driver;
using zero::gpu::driver_function;

TEST_CASE("functions of the driver are found by name, and missing ones are named") {
  int version = 0;
  auto const ask = driver_function<decltype(&cuDriverGetVersion)>("cuDriverGetVersion");
  CHECK(ask(&version) == CUDA_SUCCESS);
  CHECK(version >= 12000);
  CHECK_THROWS_AS(static_cast<void>(driver_function<decltype(&cuDriverGetVersion)>("cuNoSuch")),
                  zero::cuda_error);
}

TEST_CASE("a failed call of the driver says which and why") {
  CHECK_NOTHROW(check_driver(CUDA_SUCCESS, "cuCall"));
  std::string text;
  try {
    check_driver(CUDA_ERROR_NOT_SUPPORTED, "cuCall");
  } catch (zero::cuda_error const& error) {
    text = error.what();
    CHECK(error.code() == CUDA_ERROR_NOT_SUPPORTED);
  }
  CHECK(zero::test::contains(text, "cuCall"));
  CHECK(zero::test::contains(text, "not supported"));
}
