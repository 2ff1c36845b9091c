// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/training.hpp"

#include <zero/cuda.cuh>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace zero::test {

/// Keeps a stream busy for a while.
__global__ void spin_kernel(std::int64_t nanoseconds) {
  std::uint64_t begin = 0;
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (static_cast<std::int64_t>(now - begin) < nanoseconds);
}

/// A delay in the stream that differs from call to call: mostly none, sometimes up to 0.25 ms.
inline void random_gpu_delay(queue /*queue*/, void* stream) {
  static std::atomic<std::uint64_t> calls{0};
  std::uint64_t const bits = detail::mix(calls.fetch_add(1));
  if (bits % 6 == 0) {
    spin_kernel<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(
        static_cast<std::int64_t>(bits >> 8U & 0x3ffffU));
    check_cuda(cudaGetLastError(), "spin_kernel");
  }
}

/// What the laws of the engine need of a GPU, for any communicator.
struct gpu_memory_access {
  using device = Cuda;

  /// The compute stream of the calling thread.
  static cudaStream_t stream() {
    thread_local gpu::stream const own(gpu::stream_priority::normal);
    return own.get();
  }

  template <class Engine>
  static Engine make(typename Engine::model_type model,
                     typename Engine::communicator_type communicator,
                     typename Engine::options options) {
    if (options.stress.delay != nullptr) {
      options.stress.delay = random_gpu_delay;
    }
    return Engine(std::move(model),
                  std::move(communicator),
                  options,
                  cuda_options{.compute_stream = stream()});
  }

  static std::shared_ptr<double const> number(double value) {
    auto block = std::make_shared<gpu::memory>(static_cast<std::int64_t>(sizeof value), "test");
    auto* const address = static_cast<double*>(block->get());
    copy(address, &value, sizeof value);
    return {block, address};
  }

  template <class T>
  static std::vector<T> read(T const* from, std::int64_t n) {
    std::vector<T> values(static_cast<std::size_t>(n));
    copy(values.data(), from, values.size() * sizeof(T));
    return values;
  }

  template <class T>
  static void write(T* to, std::vector<T> const& values) {
    copy(to, values.data(), values.size() * sizeof(T));
  }

 private:
  static void copy(void* to, void const* from, std::size_t bytes) {
    if (bytes > 0) {
      check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream()), "cudaMemcpyAsync");
      check_cuda(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
    }
  }
};

/// Ranks as threads on the GPUs of this process.
struct local_gpu_platform : gpu_memory_access {
  using communicator = Local;

  template <class Body>
  static void run(int ranks, Body&& body, local_options options = {}) {
    local_gpu_world::run(ranks, std::forward<Body>(body), {.stall_limit = options.stall_limit});
  }
};

#if __has_include(<nccl.h>)
/// This process as one rank of several, as the environment says. Laws run with as many ranks as
/// there are processes; their engines share the world, each on a communicator split from it.
/// @tparam Registration what the engines' pools are made known by
/// @tparam ReadingBytes `nccl_options::peer_reading_bytes`
template <nccl_registration Registration = nccl_registration::none,
          std::int64_t ReadingBytes = nccl_options{}.peer_reading_bytes>
struct nccl_platform : gpu_memory_access {
  using communicator = Nccl;

  /// The communicator of the whole run, made at the first use.
  static nccl_communicator& world() {
    static nccl_communicator whole = Nccl::from_environment();
    return whole;
  }

  template <class Body>
  static void run(int ranks, Body&& body) {
    if (ranks != world().size()) {
      throw std::logic_error("a law asked for another number of ranks than there are processes");
    }
    check_cuda(cudaSetDevice(world().device()), "cudaSetDevice");
    body(world().duplicate({.registration = Registration, .peer_reading_bytes = ReadingBytes}));
  }
};
#endif

}  // namespace zero::test
