// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/nccl/memory.hpp>

#include <zero/device/gpu/error.hpp>
#include <zero/device/gpu/memory.hpp>

#include <doctest/doctest.h>

#include <cuda_runtime_api.h>

#include <cstdint>

TEST_CASE("memory of NCCL's allocator is device memory, aligned, and named when there is none") {
  if (!zero::detail::nccl_features::of_library().memory) {
    CHECK_THROWS_AS(static_cast<void>(zero::nccl_allocator()), zero::logic_error);
    return;
  }
  auto const source = zero::nccl_allocator();
  REQUIRE(source);
  zero::gpu::memory const some(3 << 20, "some", source);
  CHECK(reinterpret_cast<std::uintptr_t>(some.get()) % 256 == 0);
  zero::check_cuda(cudaMemset(some.get(), 1, 3 << 20), "cudaMemset");
  zero::check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  CHECK_THROWS_AS(zero::gpu::memory(std::int64_t{1} << 50, "much", source), zero::out_of_memory);
}
