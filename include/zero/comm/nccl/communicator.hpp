// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/abilities.hpp>
#include <zero/comm/concepts.hpp>
#include <zero/comm/nccl/detail/connect.hpp>
#include <zero/comm/nccl/detail/link.hpp>
#include <zero/comm/nccl/error.hpp>
#include <zero/comm/nccl/options.hpp>
#include <zero/comm/peer/gpu/communicator.hpp>
#include <zero/comm/peer/gpu/transport.hpp>
#include <zero/core/error.hpp>
#include <zero/version.hpp>

#include <nccl.h>

namespace zero::inline ZERO_ABI {

/// One rank of an NCCL communicator: a model of `communicator` whose streams are CUDA's.
///
/// Its calls enqueue and return; none waits for the device, and none allocates after construction.
/// With `nccl_registration::peers` the ranks of the host move and read what they can themselves:
/// see @ref peer_communicator, whose functions are the others of this class.
///
/// **Failures.** A watchdog thread a rank asks NCCL for errors and measures how long operations
/// take; when one has begun and not ended within `nccl_options::limit`, when a connection breaks,
/// when `abort` is called or a call throws, it aborts this rank's communicator within some ten
/// milliseconds, so that nothing hangs in a kernel, and all later calls and `check` throw the
/// reason (`peer_error`, `nccl_error`, `cuda_error`), with rank, step, unit and operation. What was
/// in flight leaves undefined bytes. NCCL carries no tags and no texts: another rank learns of the
/// failure by its own watchdog, and that one has left only by its limit. With
/// `nccl_registration::peers` the ranks tell each other, within some ten milliseconds, with rank
/// and reason; a rank whose process has ended is missed as soon as it is wanted, one that has left
/// after five seconds.
///
/// **Sums** are formed by NCCL in the wire type, in an order that it chooses by size; a prescale is
/// rounded to the wire type and multiplied in it (`ncclRedOpCreatePreMulSum`).
///
/// **Cost.** A call: NCCL's enqueueing and about 2 microseconds for two events. Construction:
/// NCCL's connections, one run of each collective, a barrier. NCCL's channel buffers are outside
/// the plan. An `all_to_others` is one group of sends and receives. `register_memory` is collective
/// when `symmetric` or `peers`, with the same bytes on each rank.
///
/// Move-only, with the rules for threads of @ref communicator_shell. The destructor waits for the
/// operations in flight (at most the limit), and aborts instead while an exception unwinds. Made by
/// @ref Nccl.
class nccl_communicator : public peer_communicator<detail::nccl_link> {
 public:
  /// Takes a communicator of NCCL. Collective; ends with a barrier.
  /// @param comm    the handle, of NCCL's blocking or non-blocking kind
  /// @param owned   whether this object destroys it
  /// @param options see @ref nccl_options
  /// @throws logic_error the options differ between the ranks, or ask for what cannot be
  /// @throws nccl_error, cuda_error, peer_error
  nccl_communicator(ncclComm_t comm, bool owned, nccl_options const& options)
      : peer_communicator<detail::nccl_link>(
            peer_options{.shares = options.registration == nccl_registration::peers,
                         .reading_bytes = options.peer_reading_bytes},
            comm,
            owned,
            options) {}

  /// NCCL's handle; stays owned. Null after this rank has aborted it.
  [[nodiscard]] ncclComm_t handle() const noexcept { return link().handle.get(); }

  /// A communicator of the same ranks with calls of its own, for one more engine, by
  /// `ncclCommSplit`. Collective; allocates; warms up as the first one did.
  /// @throws peer_error, nccl_error, cuda_error
  [[nodiscard]] nccl_communicator duplicate() { return duplicate(link().options); }

  /// The same with other options, e.g. another `cta_policy`. Collective. When the split fails, this
  /// communicator has failed, too; when the new one refuses its options, it lives.
  /// @throws logic_error, peer_error, nccl_error, cuda_error as the constructor does
  [[nodiscard]] nccl_communicator duplicate(nccl_options const& options) {
    check();
    auto const config = detail::make_config(options);
    ncclComm_t made = nullptr;
    link().handle.inside([&](ncclComm_t comm) {
      try {
        made = detail::split_in_time(comm, rank(), device(), options.limit, config);
      } catch (peer_error const&) {
        link().handle.desert();
        throw;
      } catch (nccl_error const&) {
        link().handle.check();  // what has stopped it, if that is known
        throw;
      }
    });
    return {made, true, options};
  }

 private:
  [[nodiscard]] detail::nccl_link& link() const noexcept { return transport().base(); }
};

static_assert(communicator<nccl_communicator>);
static_assert(peer_reading_communicator<nccl_communicator>);
static_assert(watching_communicator<nccl_communicator>);
static_assert(registering_communicator<nccl_communicator>);
static_assert(numbered_communicator<nccl_communicator>);

}  // namespace zero::inline ZERO_ABI
