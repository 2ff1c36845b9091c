// SPDX-License-Identifier: Apache-2.0
#include <zero/device/gpu/device_guard.hpp>

#include <zero/core/error.hpp>

#include <doctest/doctest.h>

#include <cuda_runtime_api.h>

#include <type_traits>

namespace zero::test {

static_assert(!std::is_copy_constructible_v<gpu::device_guard>);

TEST_CASE("the caller's device is current again after the guard") {
  int devices = 0;
  check_cuda(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  int const other = devices - 1;
  check_cuda(cudaSetDevice(0), "cudaSetDevice");
  int current = -1;
  {
    gpu::device_guard const guard(other);
    check_cuda(cudaGetDevice(&current), "cudaGetDevice");
    CHECK(current == other);
  }
  check_cuda(cudaGetDevice(&current), "cudaGetDevice");
  CHECK(current == 0);
}

TEST_CASE("a device that does not exist is an error and changes nothing") {
  CHECK_THROWS_AS(gpu::device_guard(12'345), cuda_error);
  int current = -1;
  check_cuda(cudaGetDevice(&current), "cudaGetDevice");
  CHECK(current == 0);
}

}  // namespace zero::test
