// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/device/gpu/error.hpp>
#include <zero/device/gpu/memory.hpp>

#include <cuda_runtime.h>

#include <array>
#include <cstdint>

namespace bench {

/// Cycles and nanoseconds of a multiprocessor, at one moment.
struct sm_moment {
  std::uint64_t cycles = 0;
  std::uint64_t nanoseconds = 0;
};

/// Notes the moment of every multiprocessor; more blocks than there are of them.
__global__ inline void sm_moment_kernel(sm_moment* of_sm, unsigned most) {
  unsigned sm = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  if (sm < most) {
    sm_moment now;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(now.cycles));
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now.nanoseconds));
    of_sm[sm] = now;
  }
}

/// The mean clock of the multiprocessors over a stretch of time: under a power limit it says how
/// much slower the same kernels run.
class sm_clock {
 public:
  sm_clock()
      : moments_(2 * bytes, "SM clocks") {}

  /// Begins the stretch. Enqueues.
  void begin(cudaStream_t stream) { note(stream, 0); }

  /// Ends it, and waits. @return megahertz
  [[nodiscard]] double end(cudaStream_t stream) {
    note(stream, 1);
    std::array<std::array<sm_moment, multiprocessors>, 2> seen{};
    zero::check_cuda(
        cudaMemcpyAsync(seen.data(), moments_.get(), sizeof seen, cudaMemcpyDeviceToHost, stream),
        "cudaMemcpyAsync");
    zero::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    double cycles = 0;
    double nanoseconds = 0;
    for (std::size_t i = 0; i < multiprocessors; ++i) {
      auto const& from = seen[0][i];
      auto const& to = seen[1][i];
      if (from.nanoseconds != 0 && to.nanoseconds > from.nanoseconds) {
        cycles += static_cast<double>(to.cycles - from.cycles);
        nanoseconds += static_cast<double>(to.nanoseconds - from.nanoseconds);
      }
    }
    return nanoseconds > 0 ? cycles / nanoseconds * 1e3 : 0;
  }

 private:
  static constexpr unsigned multiprocessors = 256;
  static constexpr std::int64_t bytes = multiprocessors * sizeof(sm_moment);

  void note(cudaStream_t stream, int which) {
    auto* const of_sm = static_cast<sm_moment*>(moments_.get()) + which * multiprocessors;
    zero::check_cuda(cudaMemsetAsync(of_sm, 0, bytes, stream), "cudaMemsetAsync");
    sm_moment_kernel<<<4 * multiprocessors, 32, 0, stream>>>(of_sm, multiprocessors);
    zero::check_cuda(cudaGetLastError(), "sm_moment_kernel");
  }

  zero::gpu::memory moments_;
};

}  // namespace bench
