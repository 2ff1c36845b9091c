// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>
#include <zero/comm/nccl/detail/calls.hpp>
#include <zero/comm/nccl/detail/handle.hpp>
#include <zero/comm/nccl/detail/watchdog.hpp>
#include <zero/core/dtype.hpp>
#include <zero/device/gpu/device_guard.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/device/gpu/memory.hpp>
#include <zero/device/gpu/stream.hpp>
#include <zero/version.hpp>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// The collectives that a communicator makes for itself. They are watched and not counted.
class nccl_own_calls {
 public:
  nccl_own_calls(nccl_handle& handle, nccl_watchdog& watchdog, nccl_sums& sums)
      : handle_(handle),
        watchdog_(watchdog),
        sums_(sums) {}

  /// All ranks' values, in rank order. Collective; allocates; waits. The current device is the
  /// rank's.
  /// @tparam T   trivially copyable
  /// @param what what it is for, a string literal
  /// @throws this rank's failure; out_of_memory, nccl_error, cuda_error
  template <class T>
  [[nodiscard]] std::vector<T> gather(T const& mine, char const* what) {
    static_assert(std::is_trivially_copyable_v<T>);
    gpu::stream const own(gpu::stream_priority::normal);
    auto const bytes = static_cast<std::int64_t>(sizeof(T));
    // NCCL's kernels read whole words at the end.
    gpu::memory const buffer(handle_.size() * bytes + 16, "values of the ranks");
    auto* const all = static_cast<std::byte*>(buffer.get());
    check_cuda(
        cudaMemcpyAsync(
            all + handle_.rank() * bytes, &mine, sizeof(T), cudaMemcpyHostToDevice, own.get()),
        "cudaMemcpyAsync");
    run(own.get(), what, collective::all_gather, "ncclAllGather", [&](ncclComm_t comm) {
      return ncclAllGather(
          all + handle_.rank() * bytes, all, sizeof(T), ncclUint8, comm, own.get());
    });
    std::vector<T> values(static_cast<std::size_t>(handle_.size()));
    check_cuda(
        cudaMemcpyAsync(
            values.data(), all, values.size() * sizeof(T), cudaMemcpyDeviceToHost, own.get()),
        "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(own.get()), "cudaStreamSynchronize");
    handle_.check();
    return values;
  }

  /// Runs every collective once, small in every type and once large, since NCCL connects by
  /// algorithm and chooses the algorithm by size. An all-reduce comes last: all ranks meet in it.
  /// Collective; allocates; waits.
  /// @param bytes of the large ones, all ranks' together
  /// @throws this rank's failure; out_of_memory, nccl_error, cuda_error
  void warm_up(std::int64_t bytes) {
    gpu::device_guard const guard(handle_.device());
    gpu::stream const own(gpu::stream_priority::normal);
    std::int64_t const ranks = handle_.size();
    std::int64_t const small = 256;
    std::int64_t const large = std::max(small, bytes / ranks / small * small);
    gpu::memory const buffer(2 * ranks * large, "NCCL warm-up");
    auto* const first = static_cast<std::byte*>(buffer.get());
    auto* const second = first + ranks * large;
    check_cuda(cudaMemsetAsync(first, 0, static_cast<std::size_t>(buffer.size()), own.get()),
               "cudaMemsetAsync");
    for (dtype const type : {dtype::fp32, dtype::bf16, dtype::fp16}) {
      sum(own.get(), first, small, type, 1);
      sum(own.get(), first, small, type, 0.5);
    }
    for (std::int64_t const shard : {small, large}) {
      move(own.get(), first, second, shard);
      sum(own.get(), first, shard, dtype::fp32, 1);
    }
    check_cuda(cudaStreamSynchronize(own.get()), "cudaStreamSynchronize");
    handle_.check();
  }

 private:
  template <class F>
  void run(cudaStream_t stream, char const* what, collective kind, char const* call, F&& f) {
    handle_.inside([&](ncclComm_t comm) {
      watchdog_.begin(stream, {.operation_name = what}, kind);
      handle_.settle(f(comm), call);
      watchdog_.end(stream);
    });
  }

  void move(cudaStream_t stream, std::byte* first, std::byte* second, std::int64_t bytes) {
    auto const count = static_cast<std::size_t>(bytes);
    run(stream, warm, collective::all_gather, "ncclAllGather", [&](ncclComm_t comm) {
      return ncclAllGather(first + handle_.rank() * bytes, first, count, ncclUint8, comm, stream);
    });
    run(stream, warm, collective::all_to_others, "ncclGroupEnd", [&](ncclComm_t comm) {
      return nccl_exchange(
          comm, handle_.rank(), handle_.size(), stream, first, bytes, second, bytes);
    });
    run(stream, warm, collective::broadcast, "ncclBroadcast", [&](ncclComm_t comm) {
      return ncclBroadcast(first, first, count, ncclUint8, 0, comm, stream);
    });
  }

  void sum(
      cudaStream_t stream, std::byte* buffer, std::int64_t bytes, dtype type, double prescale) {
    auto const elements = static_cast<std::size_t>(bytes / bytes_of(type));
    run(stream, warm, collective::reduce_scatter, "ncclReduceScatter", [&](ncclComm_t comm) {
      return ncclReduceScatter(buffer,
                               buffer + handle_.rank() * bytes,
                               elements,
                               nccl_type(type),
                               sums_.of(comm, type, prescale),
                               comm,
                               stream);
    });
    run(stream, warm, collective::all_reduce, "ncclAllReduce", [&](ncclComm_t comm) {
      return ncclAllReduce(buffer, buffer, elements, nccl_type(type), ncclSum, comm, stream);
    });
  }

  static constexpr char const* warm = "warm-up";

  nccl_handle& handle_;
  nccl_watchdog& watchdog_;
  nccl_sums& sums_;
};

}  // namespace zero::inline ZERO_ABI::detail
