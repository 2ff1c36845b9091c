// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/abilities.hpp>
#include <zero/comm/concepts.hpp>
#include <zero/comm/nccl/detail/calls.hpp>
#include <zero/comm/nccl/detail/connect.hpp>
#include <zero/comm/nccl/detail/link.hpp>
#include <zero/comm/nccl_error.hpp>
#include <zero/comm/nccl_options.hpp>
#include <zero/core/dtype.hpp>
#include <zero/core/error.hpp>
#include <zero/core/traffic.hpp>
#include <zero/device/gpu/peer_reading.hpp>
#include <zero/version.hpp>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace zero::inline ZERO_ABI {

/// One rank of an NCCL communicator: a model of `communicator` whose streams are CUDA's.
///
/// Calls enqueue and return; none waits for the device, and none allocates after construction. One
/// thread at a time makes the collective calls; `abort`, `check` and `counters` may come from any.
/// A stream that is being captured takes them too; the graph's launch belongs between `begin_watch`
/// and `end_watch`. The caller's current device is restored.
///
/// **Failures.** A watchdog thread a rank asks NCCL for errors and measures how long operations
/// take; when one has begun and not ended within `nccl_options::limit`, when a connection breaks,
/// when `abort` is called or a call throws, it aborts this rank's communicator, so that nothing
/// hangs in a kernel, and all later calls and `check` throw the reason, with rank, step, unit and
/// operation. What was in flight leaves undefined bytes. NCCL carries no tags and no texts: another
/// rank learns of the failure by its own watchdog. With `nccl_registration::peers` the ranks tell
/// each other, within some ten milliseconds, with rank and reason; a rank whose process has ended
/// is missed as soon as it is wanted, one that has left after five seconds.
///
/// **Sums** are formed by NCCL in the wire type, in an order that it chooses by size; a prescale is
/// rounded to the wire type and multiplied in it (`ncclRedOpCreatePreMulSum`).
///
/// **Cost.** A call: NCCL's enqueueing and about 2 microseconds for two events. Construction:
/// NCCL's connections, one run of each collective, a barrier. NCCL's channel buffers are outside
/// the plan. With `peers`: about 7 microseconds a call or group of calls for two meetings of the
/// streams, and page tables of the others' known memory, about 0.2 % of it.
///
/// Move-only; a moved-from communicator can only be destroyed or assigned. The destructor waits for
/// the operations in flight (at most the limit), and aborts instead while an exception unwinds.
/// Made by @ref Nccl.
class nccl_communicator {
 public:
  using stream_type = cudaStream_t;
  using reading_type = peer_reading;  ///< what `read_others` hands to the kernel

  /// Takes a communicator of NCCL. Collective; ends with a barrier.
  /// @param comm    the handle, of NCCL's blocking or non-blocking kind
  /// @param owned   whether this object destroys it
  /// @param options see @ref nccl_options
  /// @throws logic_error the options differ between the ranks, or ask for what cannot be
  /// @throws nccl_error, cuda_error, peer_error
  nccl_communicator(ncclComm_t comm, bool owned, nccl_options const& options)
      : link_(std::make_unique<detail::nccl_link>(comm, owned, options)) {}

  /// Takes over what `other` has, which is left empty.
  nccl_communicator(nccl_communicator&& other) noexcept = default;

  /// Changes places with `other`.
  nccl_communicator& operator=(nccl_communicator&& other) noexcept {
    std::swap(link_, other.link_);
    std::swap(exceptions_, other.exceptions_);
    return *this;
  }

  ~nccl_communicator() {
    if (link_ != nullptr) {
      if (std::uncaught_exceptions() > exceptions_) {
        abort("an exception ended it");
      }
      link_->finish();
    }
  }

  /// This rank's number, from 0.
  [[nodiscard]] int rank() const noexcept { return link_->handle.rank(); }

  /// The number of ranks.
  [[nodiscard]] int size() const noexcept { return link_->handle.size(); }

  /// The CUDA device of this rank.
  [[nodiscard]] int device() const noexcept { return link_->handle.device(); }

  /// NCCL's handle; stays owned. Null after this rank has aborted it.
  [[nodiscard]] ncclComm_t handle() const noexcept { return link_->handle.get(); }

  /// Every rank's `bytes` at `send` arrive at `receive + rank * bytes`. Collective.
  /// @pre `send` is `receive + rank() * bytes`, or does not overlap `receive`
  /// @throws peer_error, nccl_error, cuda_error this rank has failed
  void all_gather(cudaStream_t stream,
                  collective_tag const& tag,
                  void const* send,
                  void* receive,
                  std::int64_t bytes) {
    expects(bytes >= 0, "zero::Nccl: all_gather needs a byte count that is not negative");
    link_->run(stream, tag, {collective::all_gather, bytes}, "ncclAllGather", [&](ncclComm_t comm) {
      return link_->move(
          comm,
          receive,
          size() * bytes,
          [&](detail::peer_copies& copies, detail::peer_range const& range) {
            copies.all_gather(stream, range, send, receive, bytes);
          },
          [&](ncclComm_t by) {
            return ncclAllGather(
                send, receive, static_cast<std::size_t>(bytes), ncclUint8, by, stream);
          });
    });
  }

  /// The chunk at `send + j * send_stride_bytes` goes to rank j, the own one nowhere; rank i's
  /// chunk arrives at `receive + place_among_others(i, rank()) * bytes`: one group of sends and
  /// receives, or copies where `peers` know the memory. A single rank calls nothing of NCCL's. The
  /// stride may differ between ranks. Collective.
  /// @pre `send` and `receive` do not overlap
  /// @throws peer_error, nccl_error, cuda_error this rank has failed
  void all_to_others(cudaStream_t stream,
                     collective_tag const& tag,
                     void const* send,
                     std::int64_t send_stride_bytes,
                     void* receive,
                     std::int64_t bytes) {
    expects(bytes >= 0, "zero::Nccl: all_to_others needs a byte count that is not negative");
    std::int64_t const moved = size() > 1 ? bytes : 0;
    link_->run(
        stream, tag, {collective::all_to_others, moved}, "ncclGroupEnd", [&](ncclComm_t comm) {
          return link_->move(
              comm,
              receive,
              (size() - 1) * bytes,
              [&](detail::peer_copies& copies, detail::peer_range const& range) {
                copies.all_to_others(stream, range, send, send_stride_bytes, receive, bytes);
              },
              [&](ncclComm_t by) {
                return detail::nccl_exchange(by,
                                             rank(),
                                             size(),
                                             stream,
                                             static_cast<std::byte const*>(send),
                                             send_stride_bytes,
                                             static_cast<std::byte*>(receive),
                                             bytes);
              });
        });
  }

  /// Whether the sum of a shard may read the others' contributions where they lie, at the same
  /// offset as the own one at `shard`, instead of an exchange: all ranks know that memory
  /// (`nccl_registration::peers`) and it is no more than `nccl_options::peer_reading_bytes`. The
  /// same on all ranks.
  /// @param bytes of the whole shard, of which a sum may read a part at a time
  [[nodiscard]] bool reads_others(void const* shard, std::int64_t bytes) const noexcept {
    return bytes > 0 && bytes <= link_->options.peer_reading_bytes &&
           link_->known(shard, bytes) != nullptr;
  }

  /// Calls `launch(peer_reading)`, which puts a kernel into `stream` that reads the others' `bytes`
  /// (`gpu_kernels::sum_of_peers`). Counts as `all_to_others` of so many bytes. Collective; calls
  /// that may overlap in time must be on one stream. Not inside a group.
  /// @param continues the call before on this stream read another piece of the same shard
  /// @pre the bytes lie in a shard for which `reads_others`
  /// @throws peer_error, nccl_error, cuda_error this rank has failed
  template <class Launch>
  void read_others(cudaStream_t stream,
                   collective_tag const& tag,
                   void const* address,
                   std::int64_t bytes,
                   bool continues,
                   Launch&& launch) {
    link_->run(
        stream, tag, {collective::all_to_others, bytes}, "sum of the ranks", [&](ncclComm_t) {
          link_->read(stream, address, bytes, continues, launch);
          return ncclSuccess;
        });
  }

  /// The own shard of `buffer`, at element `rank() * elements`, becomes the sum over the ranks, in
  /// `type`; each contribution is multiplied by `prescale` first. Collective.
  /// @param elements elements of one shard; `buffer` holds `size() * elements`
  /// @throws peer_error, nccl_error, cuda_error this rank has failed
  void reduce_scatter(cudaStream_t stream,
                      collective_tag const& tag,
                      void* buffer,
                      std::int64_t elements,
                      dtype type,
                      double prescale) {
    expects(elements >= 0, "zero::Nccl: reduce_scatter needs a count that is not negative");
    std::int64_t const bytes = elements * bytes_of(type);
    link_->run(stream,
               tag,
               {collective::reduce_scatter, bytes},
               "ncclReduceScatter",
               [&](ncclComm_t comm) {
                 return ncclReduceScatter(buffer,
                                          static_cast<std::byte*>(buffer) + rank() * bytes,
                                          static_cast<std::size_t>(elements),
                                          detail::nccl_type(type),
                                          link_->sums.of(comm, type, prescale),
                                          comm,
                                          stream);
               });
  }

  /// `buffer` becomes the sum over the ranks, in `type`; the same bits on every rank. Collective.
  /// @throws peer_error, nccl_error, cuda_error this rank has failed
  void all_reduce(cudaStream_t stream,
                  collective_tag const& tag,
                  void* buffer,
                  std::int64_t elements,
                  dtype type) {
    expects(elements >= 0, "zero::Nccl: all_reduce needs a count that is not negative");
    std::int64_t const bytes = elements * bytes_of(type);
    link_->run(stream, tag, {collective::all_reduce, bytes}, "ncclAllReduce", [&](ncclComm_t comm) {
      return ncclAllReduce(buffer,
                           buffer,
                           static_cast<std::size_t>(elements),
                           detail::nccl_type(type),
                           ncclSum,
                           comm,
                           stream);
    });
  }

  /// `buffer` becomes root's. Collective.
  /// @throws logic_error there is no such root
  /// @throws peer_error, nccl_error, cuda_error this rank has failed
  void broadcast(
      cudaStream_t stream, collective_tag const& tag, void* buffer, std::int64_t bytes, int root) {
    expects(bytes >= 0, "zero::Nccl: broadcast needs a byte count that is not negative");
    expects(root >= 0 && root < size(), "zero::Nccl: the root of a broadcast must be a rank");
    link_->run(
        stream,
        tag,
        {collective::broadcast, bytes, rank() == root},
        "ncclBroadcast",
        [&](ncclComm_t comm) {
          return ncclBroadcast(
              buffer, buffer, static_cast<std::size_t>(bytes), ncclUint8, root, comm, stream);
        });
  }

  /// Begins a group: its calls, all on one stream and none needing what another one brings, are
  /// launched together by the outermost `end_group`. Groups nest. A call in it that throws ends the
  /// group.
  /// @throws peer_error, nccl_error, cuda_error this rank has failed
  void begin_group() { link_->begin_group(); }

  /// Ends a group.
  /// @throws logic_error no group has begun
  /// @throws peer_error, nccl_error, cuda_error this rank has failed
  void end_group() { link_->end_group(); }

  /// This rank has failed: its calls throw `why` from now on, and its communicator is aborted
  /// within some ten milliseconds. Any thread; returns at once.
  void abort(std::string why) noexcept { link_->abort(std::move(why)); }

  /// This rank makes no more calls: any later one throws here. Those it has made complete on the
  /// others undisturbed. NCCL has no way to tell the others; one that still wants this rank fails
  /// after its limit; with `nccl_registration::peers` five seconds after it wanted it.
  void leave() noexcept { link_->leave(); }

  /// Throws the failure of this rank, if there is one, and with `nccl_registration::peers` that of
  /// another one. Any thread; a few atomic reads otherwise.
  void check() const { link_->check(); }

  /// What this rank has sent so far. Any thread.
  [[nodiscard]] traffic counters() const noexcept { return link_->counters.read(); }

  /// Has the watchdog watch what is put into a stream between two calls, e.g. the launch of a graph
  /// that holds collectives, as it watches an operation. With `peers` it also puts what follows
  /// behind this rank's earlier calls on other streams, and `end_watch` later ones behind it. Does
  /// nothing while the stream is captured.
  /// @throws cuda_error
  void begin_watch(cudaStream_t stream, collective_tag const& tag) {
    link_->begin_watch(stream, tag);
  }

  /// Ends what `begin_watch` began. @throws cuda_error
  void end_watch(cudaStream_t stream) { link_->end_watch(stream); }

  /// Makes device memory known, as `nccl_options::registration` says; does nothing where that is
  /// `none`. The memory must stay until it is deregistered or this object is gone. Allocates.
  /// Collective when `symmetric` or `peers`, with the same bytes on each rank. With `peers` it
  /// waits for the other ranks, must not stand in a group or a capture, and calls into known memory
  /// must have the same offset in the same range on each rank, and come in the same order on each,
  /// on whichever streams; those of one capture must be ordered by it. A rank deregisters when its
  /// own calls have ended, which takes back all registrations of that address.
  /// @throws nccl_error; with `peers` also logic_error (the memory cannot be shared), cuda_error
  /// and peer_error
  void register_memory(void* address, std::int64_t bytes) { link_->remember(address, bytes); }

  /// Whether memory that is only sent from gains by being known; what sums may read
  /// (`reads_others`) does in any case.
  [[nodiscard]] bool registers_sources() const noexcept {
    return link_->options.registration != nccl_registration::peers;
  }

  /// Undoes `register_memory` for the range that begins at `address`.
  void deregister_memory(void* address) noexcept { link_->forget(address); }

  /// A communicator of the same ranks with calls of its own, for one more engine, by
  /// `ncclCommSplit`. Collective; allocates; warms up as the first one did.
  /// @throws peer_error, nccl_error, cuda_error
  [[nodiscard]] nccl_communicator duplicate() { return duplicate(link_->options); }

  /// The same with other options, e.g. another `cta_policy`. Collective. When the split fails, this
  /// communicator has failed, too; when the new one refuses its options, it lives.
  /// @throws logic_error, peer_error, nccl_error, cuda_error as the constructor does
  [[nodiscard]] nccl_communicator duplicate(nccl_options const& options) {
    check();
    auto const config = detail::make_config(options);
    ncclComm_t made = nullptr;
    link_->handle.inside([&](ncclComm_t comm) {
      try {
        made = detail::split_in_time(comm, rank(), device(), options.limit, config);
      } catch (peer_error const&) {
        link_->handle.desert();
        throw;
      } catch (nccl_error const&) {
        link_->handle.check();  // what has stopped it, if that is known
        throw;
      }
    });
    return {made, true, options};
  }

 private:
  std::unique_ptr<detail::nccl_link> link_;
  int exceptions_ = std::uncaught_exceptions();
};

static_assert(communicator<nccl_communicator>);
static_assert(peer_reading_communicator<nccl_communicator>);
static_assert(watching_communicator<nccl_communicator>);
static_assert(registering_communicator<nccl_communicator>);
static_assert(numbered_communicator<nccl_communicator>);

}  // namespace zero::inline ZERO_ABI
