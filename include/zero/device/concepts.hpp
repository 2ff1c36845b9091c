// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/queue.hpp>
#include <zero/version.hpp>

#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>

namespace zero::inline ZERO_ABI {

/// What a device has allocated so far: counted inside the allocation calls, so that it can be
/// compared with what was planned.
struct allocation_counters {
  std::int64_t calls = 0;       ///< allocations made, those of zero bytes not counted
  std::int64_t bytes = 0;       ///< bytes of all of them, as asked for
  std::int64_t live_bytes = 0;  ///< bytes not yet deallocated

  friend constexpr bool operator==(allocation_counters const&,
                                   allocation_counters const&) = default;
};

namespace detail {

/// A body any device must accept: it takes the stream and does nothing.
struct empty_body {
  template <class Stream>
  void operator()(Stream /*stream*/) const noexcept {}
};

}  // namespace detail

/// Memory, and three queues of work with events between them: all an engine needs of a machine.
///
/// **Intuition.** The queues of a device are CUDA's streams, its events CUDA's events. One thread
/// at a time talks to a device and never waits for it, except where it says so below.
///
/// **Minimal definition.**
/// - A constructor `D(events, arguments...)`: events are numbered 0 ... `events` - 1, and
///   `arguments` are what the engine's constructor was given behind its options. A device is never
///   copied or moved.
/// - `allocate(bytes, pool)` gives memory of the device at a multiple of 256 bytes, or throws
///   `out_of_memory` with the pool's name; null for zero bytes. `deallocate(address, bytes)`.
/// - `enqueue(queue, body)`: `body(stream)` takes its turn in the queue. It must be trivially
///   copyable and at most 192 bytes; what it refers to must live until it has run.
/// - `record(queue, event)`: the event stands for everything put into that queue so far.
/// - `wait(queue, event)`: what is put into that queue from now on starts after what the event's
///   *latest record at this moment* stands for. An event that was never recorded holds nothing up.
/// - `stream(queue)`: what bodies in that queue receive, of type `stream_type`: a handle, copied at
///   will.
/// - `finish()`: waits until all queues are empty. Does not throw.
/// - `check()`: throws the first failure. From a failure on, bodies are dropped unrun, and queues
///   still empty themselves.
/// - `fail(error)`: makes the device fail, as if a body had thrown. `on_failure(f)`: `f(error)` is
///   called once, for the first failure, by the thread that noticed it.
/// - `allocations()`: the `allocation_counters`.
/// - `kernels`: the class of its kernels, see `kernels_of` in `device/kernel_concepts.hpp`; it may
///   be defined after the device.
///
/// `check`, `fail` and `allocations` may come from any thread. A policy names the device:
/// `struct P { using policy_category = device_category; using device = D; };`
///
/// **Optional.** Concepts of their own in `device/abilities.hpp`: `separate_memory_device`, without
/// which memory is the host's; `stream_ordering_device`, `graph_device`, `delayable_device`,
/// `timeline_device`, `numbered_device`.
///
/// **Laws.** One queue runs in order; a chain record, wait, record, wait orders three queues; a
/// wait does not see later records; nothing runs after a failure. Law test:
/// `tests/laws/device.hpp`.
///
/// **Models.** `host_device`, and the GPU's.
///
/// After construction only `allocate` and failures allocate.
template <class D>
concept device = requires(D& d,
                          D const& observed,
                          queue q,
                          int event,
                          std::int64_t bytes,
                          char const* pool,
                          void* address,
                          std::exception_ptr error,
                          std::function<void(std::exception_ptr)> callback) {
  typename D::kernels;
  requires std::copy_constructible<typename D::stream_type>;
  { d.allocate(bytes, pool) } -> std::same_as<void*>;
  { d.deallocate(address, bytes) } noexcept -> std::same_as<void>;
  { d.enqueue(q, detail::empty_body{}) } -> std::same_as<void>;
  { d.record(q, event) } -> std::same_as<void>;
  { d.wait(q, event) } -> std::same_as<void>;
  { observed.stream(q) } -> std::same_as<typename D::stream_type>;
  { d.finish() } noexcept -> std::same_as<void>;
  { observed.check() } -> std::same_as<void>;
  { d.fail(error) } noexcept -> std::same_as<void>;
  { d.on_failure(callback) } -> std::same_as<void>;
  { observed.allocations() } -> std::same_as<allocation_counters>;
};

}  // namespace zero::inline ZERO_ABI
