// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/nccl/options.hpp>
#include <zero/core/error.hpp>
#include <zero/device/gpu/memory.hpp>
#include <zero/version.hpp>

#include <nccl.h>

#include <cstddef>
#include <cstdint>

namespace zero::inline ZERO_ABI {

/// Device memory from `ncclMemAlloc`, as the allocator of a CUDA device
/// (`cuda_options{.allocator = zero::nccl_allocator()}`): what registration and symmetric windows
/// need. Each range is rounded up to NCCL's granularity, 2 MiB on today's GPUs.
///
/// @throws logic_error when the loaded NCCL is older than 2.19; use the default allocator there
[[nodiscard]] inline gpu::allocator nccl_allocator() {
  precondition(detail::nccl_features::of_library().memory,
               "zero::nccl_allocator: ncclMemAlloc needs NCCL 2.19 or newer; leave "
               "cuda_options::allocator at its default");
  gpu::allocator result;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 19, 1)
  result.allocate = [](void* /*context*/, std::int64_t bytes) -> void* {
    void* address = nullptr;
    auto const code = ncclMemAlloc(&address, static_cast<std::size_t>(bytes));
    return code == ncclSuccess ? address : nullptr;
  };
  result.deallocate = [](void* /*context*/, void* address, std::int64_t /*bytes*/) {
    static_cast<void>(ncclMemFree(address));
  };
#endif
  return result;
}

}  // namespace zero::inline ZERO_ABI
