// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/communicator_shell.hpp>
#include <zero/comm/concepts.hpp>
#include <zero/comm/peer/concepts.hpp>
#include <zero/comm/peer/gpu/transport.hpp>
#include <zero/core/traffic.hpp>
#include <zero/device/gpu/peer_reading.hpp>
#include <zero/version.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>
#include <utility>

namespace zero::inline ZERO_ABI {

/// A model of `communicator` whose ranks write and read each other's GPU memory where they share
/// a host and are asked to (`peer_options::shares`); `Base`, a `peer_base`, moves all else.
///
/// Calls enqueue and return; none waits for the device. The caller's current device is restored. A
/// stream that is being captured takes them too; the graph's launch belongs between `begin_watch`
/// and `end_watch`. Streams wait for other ranks where CUDA cannot see it: several communicators of
/// one GPU must be used in the same order on all ranks.
template <peer_base Base>
class peer_communicator : public communicator_shell<peer_transport<Base>> {
 public:
  using reading_type = peer_reading;  ///< what `read_others` hands to the kernel

  /// Makes the base of `args`. Collective; ends with a meeting of all ranks where they share
  /// memory.
  /// @throws logic_error the ranks cannot share memory; what the base throws
  template <class... Args>
  explicit peer_communicator(peer_options const& options, Args&&... args)
      : communicator_shell<peer_transport<Base>>(
            std::in_place, options, std::forward<Args>(args)...) {}

  /// The CUDA device of this rank.
  [[nodiscard]] int device() const noexcept { return this->transport().device(); }

  /// Whether the sum of a shard may read the others' contributions where they lie, at the same
  /// offset as the own one at `shard`, instead of an exchange: all ranks know that memory and it is
  /// no more than `peer_options::reading_bytes`. The same on all ranks.
  /// @param bytes of the whole shard, of which a sum may read a part at a time
  [[nodiscard]] bool reads_others(void const* shard, std::int64_t bytes) const noexcept {
    return this->transport().reads_others(shard, bytes);
  }

  /// Calls `launch(peer_reading)`, which puts a kernel into `stream` that reads the others' `bytes`
  /// (`gpu_kernels::sum_of_peers`). Counts as `all_to_others` of so many bytes. Collective; calls
  /// that may overlap in time must be on one stream. Not inside a group.
  /// @param continues the call before on this stream read another piece of the same shard
  /// @pre the bytes lie in a shard for which `reads_others`
  /// @throws peer_error, cuda_error, an error of the base's: this rank has failed
  template <class Launch>
  void read_others(cudaStream_t stream,
                   collective_tag const& tag,
                   void const* address,
                   std::int64_t bytes,
                   bool continues,
                   Launch&& launch) {
    this->transport().read_others(
        stream, tag, address, bytes, continues, std::forward<Launch>(launch));
    this->count(collective::all_to_others, bytes);
  }

  /// Watches what is put into a stream between two calls, e.g. the launch of a graph that holds
  /// collectives, as an operation is watched. Where ranks share memory it also puts what follows
  /// behind this rank's earlier calls on other streams, and `end_watch` later ones behind it. Does
  /// nothing while the stream is captured.
  /// @throws cuda_error
  void begin_watch(cudaStream_t stream, collective_tag const& tag) {
    this->transport().begin_watch(stream, tag);
  }

  /// Ends what `begin_watch` began. @throws cuda_error
  void end_watch(cudaStream_t stream) { this->transport().end_watch(stream); }

  /// Makes device memory known to the other ranks, or to the base where ranks do not share memory.
  /// The memory must stay until it is deregistered or this object is gone. Allocates.
  ///
  /// Where ranks share memory it is collective, with the same bytes on each rank, and waits for
  /// them; must not stand in a group or a capture; and calls into known memory must have the same
  /// offset in the same range on each rank, and come in the same order on each, on whichever
  /// streams; those of one capture must be ordered by it. A rank deregisters when its own calls
  /// have ended, which takes back all registrations of that address.
  /// @throws logic_error the memory cannot be shared; cuda_error, peer_error, what the base throws
  void register_memory(void* address, std::int64_t bytes) {
    this->transport().register_memory(address, bytes);
  }

  /// Whether memory that is only sent from gains by being known; what sums may read
  /// (`reads_others`) does in any case.
  [[nodiscard]] bool registers_sources() const noexcept { return !this->transport().shares(); }

  /// Undoes `register_memory` for the range that begins at `address`.
  void deregister_memory(void* address) noexcept { this->transport().deregister_memory(address); }
};

}  // namespace zero::inline ZERO_ABI
