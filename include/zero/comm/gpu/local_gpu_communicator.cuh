// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/abilities.hpp>
#include <zero/comm/communicator_shell.hpp>
#include <zero/comm/concepts.hpp>
#include <zero/comm/gpu/detail/local_seats.hpp>
#include <zero/comm/gpu/detail/local_transport.cuh>
#include <zero/version.hpp>

#include <memory>
#include <utility>

namespace zero::inline ZERO_ABI {

/// One rank of a world whose ranks are threads of this process and whose buffers are memory of
/// GPUs, one or several: a model of `communicator` whose streams are CUDA's.
///
/// A collective is: record an event, publish my pointer, meet; put waits for the others' events and
/// my copies out of their buffers into my stream, record; meet again, and put waits for the others'
/// copies into my stream. The host threads meet only to enqueue: nobody waits for a device, no
/// kernel spins, no host function meets. Calls are compared across ranks, as on the host.
///
/// Sums are those of `local_communicator`, bit for bit: in rank order, each partial sum rounded to
/// the wire type.
///
/// Cost: two meetings a call (three for all_reduce); the bytes it receives, copied; two events and
/// 2 (n - 1) waits. No allocation. A group is only counted. Can be captured into a graph in a world
/// of one rank alone.
///
/// Move-only; threads and destruction as for `local_communicator`. The caller's current device is
/// restored by every call.
class local_gpu_communicator : public communicator_shell<detail::local_gpu_transport> {
 public:
  /// The device of this rank.
  [[nodiscard]] int device() const noexcept { return transport().device(); }

  /// A communicator of the same ranks with calls of its own, for one more engine. Every rank must
  /// duplicate as often and in the same order; nobody waits. A failure of this world reaches its
  /// duplicates, not the other way round. Allocates.
  /// @throws peer_error this world has failed; cuda_error
  [[nodiscard]] local_gpu_communicator duplicate() {
    return local_gpu_communicator(transport().duplicate(), rank());
  }

 private:
  friend class local_gpu_world;

  local_gpu_communicator(std::shared_ptr<detail::local_seats> seats, int rank)
      : communicator_shell(std::in_place, std::move(seats), rank) {}
};

static_assert(communicator<local_gpu_communicator>);
static_assert(numbered_communicator<local_gpu_communicator>);

}  // namespace zero::inline ZERO_ABI
