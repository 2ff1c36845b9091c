// SPDX-License-Identifier: Apache-2.0
#include <zero/device/gpu/error.hpp>

#include <doctest/doctest.h>

#include <cuda_runtime_api.h>

#include <string>

namespace zero::test {

static_assert(noexcept(gpu::ignore_at_exit(cudaSuccess)));

TEST_CASE("a failed call becomes an exception with its name, code and place") {
  CHECK_NOTHROW(check_cuda(cudaSuccess, "cudaMalloc"));
  bool thrown = false;
  try {
    check_cuda(cudaErrorInvalidValue, "cudaMalloc");
  } catch (cuda_error const& e) {
    thrown = true;
    CHECK(e.code() == static_cast<int>(cudaErrorInvalidValue));
    CHECK(std::string(e.call()) == "cudaMalloc");
    CHECK(std::string(e.what()).find("cudaErrorInvalidValue") != std::string::npos);
    CHECK(std::string(e.where().file_name()).find("error.cu") != std::string::npos);
  }
  CHECK(thrown);
}

TEST_CASE("errors with one cause say what to do") {
  auto const said = [](cudaError_t code) {
    try {
      check_cuda(code, "cudaMalloc");
    } catch (cuda_error const& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(said(cudaErrorNoDevice).find("nvidia-smi") != std::string::npos);
  CHECK(said(cudaErrorInsufficientDriver).find("nvidia-smi") != std::string::npos);
  CHECK(said(cudaErrorNoKernelImageForDevice).find("-arch=native") != std::string::npos);
  CHECK(said(cudaErrorInvalidValue).find(';') == std::string::npos);
}

TEST_CASE("a caught error does not surface again") {
  CHECK_THROWS_AS(check_cuda(cudaSetDevice(12'345), "cudaSetDevice"), cuda_error);
  CHECK(cudaGetLastError() == cudaSuccess);
  gpu::ignore_at_exit(cudaSetDevice(12'345));
  CHECK(cudaGetLastError() == cudaSuccess);
}

}  // namespace zero::test
