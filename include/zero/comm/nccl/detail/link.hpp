// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>
#include <zero/comm/nccl/detail/calls.hpp>
#include <zero/comm/nccl/detail/operations.hpp>
#include <zero/comm/nccl/detail/own_calls.hpp>
#include <zero/comm/nccl/detail/registry.hpp>
#include <zero/comm/nccl/detail/same_options.hpp>
#include <zero/comm/nccl/error.hpp>
#include <zero/comm/nccl/options.hpp>
#include <zero/comm/peer/concepts.hpp>
#include <zero/core/dtype.hpp>
#include <zero/core/error.hpp>
#include <zero/core/traffic.hpp>
#include <zero/device/gpu/device_guard.hpp>
#include <zero/version.hpp>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// What stands behind a `nccl_communicator`: the collectives by NCCL, and how a communicator of it
/// is set up and closed. A model of `transport` and of `peer_base`.
class nccl_link : public nccl_operations {
 public:
  using stream_type = cudaStream_t;

  static constexpr peer_words words{
      .name = name,
      .option = "nccl_registration::peers",
      .plain = "nccl_registration::none",
  };

  nccl_link(ncclComm_t comm, bool owned, nccl_options const& settings)
      : nccl_operations(comm, owned, settings),
        options(settings),
        registry_(settings.registration) {
    set_up([this] {
      if (size() > 1) {
        expect_same_options(
            options, [this](auto const& mine) { return gather(mine, "comparison of options"); });
      }
      own_calls().warm_up(options.warm_up_bytes);
    });
  }

  // --- the collectives ---------------------------------------------------------------------------

  void all_gather(cudaStream_t stream,
                  collective_tag const& tag,
                  void const* send,
                  void* receive,
                  std::int64_t bytes) {
    run(stream, tag, {collective::all_gather, bytes, "ncclAllGather"}, [&](ncclComm_t comm) {
      return ncclAllGather(send, receive, static_cast<std::size_t>(bytes), ncclUint8, comm, stream);
    });
  }

  /// One group of sends and receives. A single rank calls nothing of NCCL's.
  void all_to_others(cudaStream_t stream,
                     collective_tag const& tag,
                     void const* send,
                     std::int64_t send_stride_bytes,
                     void* receive,
                     std::int64_t bytes) {
    std::int64_t const moved = size() > 1 ? bytes : 0;
    run(stream, tag, {collective::all_to_others, moved, "ncclGroupEnd"}, [&](ncclComm_t comm) {
      return nccl_exchange(comm,
                           rank(),
                           size(),
                           stream,
                           static_cast<std::byte const*>(send),
                           send_stride_bytes,
                           static_cast<std::byte*>(receive),
                           bytes);
    });
  }

  void reduce_scatter(cudaStream_t stream,
                      collective_tag const& tag,
                      void* buffer,
                      std::int64_t elements,
                      dtype type,
                      double prescale) {
    auto const reduce = [&](ncclComm_t comm) {
      return ncclReduceScatter(buffer,
                               static_cast<std::byte*>(buffer) + rank() * elements * bytes_of(type),
                               static_cast<std::size_t>(elements),
                               nccl_type(type),
                               sums_.of(comm, type, prescale),
                               comm,
                               stream);
    };
    run(stream, tag, {collective::reduce_scatter, elements, "ncclReduceScatter"}, reduce);
  }

  void all_reduce(cudaStream_t stream,
                  collective_tag const& tag,
                  void* buffer,
                  std::int64_t elements,
                  dtype type) {
    run(stream, tag, {collective::all_reduce, elements, "ncclAllReduce"}, [&](ncclComm_t comm) {
      return ncclAllReduce(buffer,
                           buffer,
                           static_cast<std::size_t>(elements),
                           nccl_type(type),
                           ncclSum,
                           comm,
                           stream);
    });
  }

  void broadcast(
      cudaStream_t stream, collective_tag const& tag, void* buffer, std::int64_t bytes, int root) {
    run(stream, tag, {collective::broadcast, bytes, "ncclBroadcast"}, [&](ncclComm_t comm) {
      return ncclBroadcast(
          buffer, buffer, static_cast<std::size_t>(bytes), ncclUint8, root, comm, stream);
    });
  }

  // --- setting up --------------------------------------------------------------------------------

  template <class T>
  [[nodiscard]] std::vector<T> gather(T const& mine, char const* what) {
    gpu::device_guard const guard(device());
    return own_calls().gather(mine, what);
  }

  template <class F>
  void set_up(F&& f) {
    try {
      f();
    } catch (std::exception const& error) {
      if (dynamic_cast<logic_error const*>(&error) != nullptr) {
        meet_refused();
      }
      abort(error.what());
      close();
      throw;
    }
  }

  // --- memory ------------------------------------------------------------------------------------

  void register_memory(void* address, std::int64_t bytes) {
    if (registry_.kind() != nccl_registration::none && bytes > 0) {
      gpu::device_guard const guard(device());
      handle.inside([&](ncclComm_t comm) {
        registry_.add(comm, address, bytes);
        // Registration settles at once on communicators that block; the others are asked.
        ncclResult_t state = ncclSuccess;
        check_nccl(ncclCommGetAsyncError(comm, &state), "ncclCommGetAsyncError", comm);
        handle.settle(state, "ncclCommRegister");
      });
    }
  }

  void deregister_memory(void* address) noexcept {
    if (!failed()) {
      registry_.remove(handle.get(), address);
    }
  }

  // --- the end -----------------------------------------------------------------------------------

  void close() noexcept {
    nccl_operations::close();
    if (!failed()) {
      registry_.clear(handle.get());
    }
  }

  void finish() noexcept {
    drain([] { return true; });
    close();
  }

  nccl_options options;

 private:
  [[nodiscard]] nccl_own_calls own_calls() { return {handle, watchdog(), sums_}; }

  /// Returns when all ranks have come to a refusal, which they make alike; so what each throws is
  /// its own, and not that another one has ended.
  void meet_refused() noexcept {
    try {
      static_cast<void>(gather(std::int32_t{0}, "refusal"));
    } catch (...) {  // nothing is worth more than the refusal
    }
  }

  nccl_sums sums_;
  nccl_registry registry_;
};

static_assert(peer_base<nccl_link>);

}  // namespace zero::inline ZERO_ABI::detail
