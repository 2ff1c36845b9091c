// SPDX-License-Identifier: Apache-2.0
// `main` of the tests for GPUs: without a GPU nothing runs, and the exit status 77 says so.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cuda_runtime_api.h>

#include <cstdio>

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    cudaGetLastError();
    if (!context.shouldExit()) {
      std::puts("SKIPPED: this machine has no GPU that CUDA can use.");
      return 77;
    }
  }
  return context.run();
}
