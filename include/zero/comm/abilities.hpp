// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>
#include <zero/version.hpp>

#include <concepts>
#include <cstdint>

/// @file
/// What a `communicator` may be able to do besides. An engine looks for these concepts and for
/// nothing else; a communicator that has a part of one and not all of it does not compile with an
/// engine.

namespace zero::inline ZERO_ABI {

namespace detail {

/// What a communicator that reads others calls: it takes what the kernels need, and launches one.
struct empty_launch {
  template <class Reading>
  void operator()(Reading const& /*reading*/) const noexcept {}
};

}  // namespace detail

/// A communicator whose ranks can read each other's memory where it lies.
///
/// **Intuition.** An exchange moves contributions so that a kernel can add them. Where the kernel
/// can read them in place, it does both: one pass over memory less.
///
/// **Minimal definition.**
/// - `reading_type`: what a kernel needs to find the ranks' parts, see `peer_summing_kernels`;
/// - `reads_others(shard, bytes)`: whether sums of the shard of `bytes` bytes whose own part is at
///   `shard` are to read the others' in place. Alike on all ranks for what lies at the same offset
///   of their memory;
/// - `read_others(stream, tag, own, bytes, continues, launch)`: calls `launch(reading)` once, which
///   puts a kernel into `stream` that reads `bytes` bytes of each rank, the own ones at `own`.
///   `continues`: the call before on this stream read another piece of the same shard. Collective;
///   counted as an `all_to_others` of so many bytes. The others' memory holds what they wrote to it
///   on their streams before their calls, and stays until all have read.
///
/// The others' parts are where `register_memory` has said, see `registering_communicator`. An
/// engine calls `read_others` in bodies of the reduce queue: beside the calls of the comm queue.
///
/// **Laws.** A sum of what is read is the sum of what `all_to_others` brings. Law test:
/// `peer_reading_laws` in `tests/laws/communicator_abilities.hpp`.
///
/// **Models.** `nccl_communicator` with `nccl_registration::peers`.
template <class C>
concept peer_reading_communicator = communicator<C> && requires(C& c,
                                                                C const& observed,
                                                                typename C::stream_type stream,
                                                                collective_tag const& tag,
                                                                void const* own,
                                                                std::int64_t bytes,
                                                                bool continues) {
  typename C::reading_type;
  { observed.reads_others(own, bytes) } -> std::same_as<bool>;
  {
    c.read_others(stream, tag, own, bytes, continues, detail::empty_launch{})
  } -> std::same_as<void>;
};

/// A communicator that watches what it has put into a stream, and cuts it short when a rank fails.
///
/// **Intuition.** Calls of other communicators have ended when they return, or fail inside. Kernels
/// of NCCL wait for other GPUs; a watchdog ends them, and leaves undefined bytes. What an engine
/// believes after a failure depends on which kind it has. An engine calls in bodies of the compute
/// queue.
///
/// **Minimal definition.** `begin_watch(stream, tag)` and `end_watch(stream)` around what is put
/// into a stream without the communicator's own calls, e.g. the launch of a graph that holds them:
/// it is watched as an operation is. They may throw.
///
/// **Laws.** What is put between them runs as without them, and in the stream's order. Law test:
/// `watching_laws` in `tests/laws/communicator_abilities.hpp`.
///
/// **Models.** `nccl_communicator`.
template <class C>
concept watching_communicator =
    communicator<C> && requires(C& c, typename C::stream_type stream, collective_tag const& tag) {
      { c.begin_watch(stream, tag) } -> std::same_as<void>;
      { c.end_watch(stream) } -> std::same_as<void>;
    };

/// A communicator that gains by knowing where the memory lies that its calls touch.
///
/// **Minimal definition.**
/// - `register_memory(address, bytes)`: an engine calls it for whole pools, in the same order and
///   with the same bytes on each rank, after they were allocated. It may be collective and wait;
/// - `deregister_memory(address)`: before the pool is deallocated. Does not throw;
/// - `registers_sources()`: whether memory that is only sent from gains as well. Alike on all
/// ranks.
///
/// **Laws.** Calls into registered memory do what they do elsewhere; memory may be registered again
/// after it was deregistered. Law test: `registering_laws` in
/// `tests/laws/communicator_abilities.hpp`.
///
/// **Models.** `nccl_communicator`.
template <class C>
concept registering_communicator =
    communicator<C> && requires(C& c, C const& observed, void* address, std::int64_t bytes) {
      { c.register_memory(address, bytes) } -> std::same_as<void>;
      { c.deregister_memory(address) } noexcept -> std::same_as<void>;
      { observed.registers_sources() } -> std::same_as<bool>;
    };

/// A communicator that is bound to one of several devices.
///
/// **Minimal definition.** `device()`: its number, as `numbered_device` counts. An engine refuses a
/// device of another number.
///
/// **Models.** `nccl_communicator`, and local ranks on GPUs.
template <class C>
concept numbered_communicator = communicator<C> && requires(C const& c) {
  { c.device() } -> std::convertible_to<int>;
};

}  // namespace zero::inline ZERO_ABI
