// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/device/gpu/launch.cuh>

#include <cuda_runtime.h>

#include <cstdint>

namespace zero::test {

namespace detail_spin {

template <class Nanoseconds>
__global__ void spin_kernel(Nanoseconds length) {
  Nanoseconds begin;
  Nanoseconds now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < length);
}

}  // namespace detail_spin

/// Keeps a stream busy for some milliseconds, with one thread.
inline void spin(cudaStream_t stream, int milliseconds) {
  zero::gpu::launch("spin",
                    detail_spin::spin_kernel<std::uint64_t>,
                    1,
                    1,
                    stream,
                    static_cast<std::uint64_t>(milliseconds) * 1'000'000);
}

}  // namespace zero::test
