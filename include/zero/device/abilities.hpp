// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/queue.hpp>
#include <zero/device/concepts.hpp>
#include <zero/device/stamps.hpp>
#include <zero/version.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

/// @file
/// What a `device` may be able to do besides. An engine looks for these concepts and for nothing
/// else; a device that has a part of one and not all of it does not compile with an engine.

namespace zero::inline ZERO_ABI {

namespace detail {

/// What `end_capture` returns. Not written inside the concept, where nvcc 13.0 does not take it.
template <class D>
using captured_t = std::remove_cvref_t<decltype(std::declval<D&>().end_capture())>;

}  // namespace detail

/// A device whose memory is not the host's.
///
/// **Intuition.** What `allocate` gives is an address for kernels and communicators. The host must
/// not look behind it, only compute with it: `address + n` lies n bytes further. A device that does
/// not model this concept hands out memory of the host, which an engine reads and writes itself
/// when the queues are empty.
///
/// **Minimal definition.**
/// - `upload(to, from, bytes)` copies from the host to the device, `download(to, from, bytes)` from
///   the device to the host. Both come after everything that is queued, wait, and throw the
///   device's failure, if there is one. An engine calls them at construction and when values are
///   asked for, never inside a step.
/// - `kernels::copy` takes memory of the host on either side as well: after a failure that is how
///   an engine looks for the number of the latest step.
///
/// **Laws.** What was uploaded is downloaded; a download sees what bodies queued before it wrote;
/// after a failure both throw it. Law test: `separate_memory_laws` in
/// `tests/laws/device_abilities.hpp`.
///
/// **Models.** The GPU's.
template <class D>
concept separate_memory_device =
    device<D> && requires(D& d, void* to, void const* from, std::int64_t bytes) {
      { d.upload(to, from, bytes) } -> std::same_as<void>;
      { d.download(to, from, bytes) } -> std::same_as<void>;
    };

/// A device whose queues can be ordered with streams that it does not own.
///
/// **Intuition.** Users work on streams of their own; `lease.used_on(stream)` and
/// `engine.join(stream)` are these two calls.
///
/// **Minimal definition.** `include(stream)`: what is put into the compute queue from now on starts
/// after what is in `stream` now. `make_wait(stream)`: what is put into `stream` from now on starts
/// after what is in all three queues now. Neither waits; a failure is kept, see `check`.
///
/// **Laws.** A chain of copies over both kinds of streams arrives. Law test:
/// `stream_ordering_laws` in `tests/laws/device_abilities.hpp`.
///
/// **Models.** The GPU's, for `cudaStream_t`.
template <class D, class Stream = typename D::stream_type>
concept stream_ordering_device = device<D> && requires(D& d, Stream stream) {
  { d.include(stream) } -> std::same_as<void>;
  { d.make_wait(stream) } -> std::same_as<void>;
};

/// A device that can record what is put into its queues, and run it again.
///
/// **Intuition.** CUDA's graphs: `engine.capture` and `engine.replay`.
///
/// **Minimal definition.**
/// - `begin_capture()`: from now on what is put into the queues is recorded and not run.
/// - `end_capture()` ends that and returns the record, a movable object.
/// - `abandon_capture()` ends it after an exception; nothing of it runs. Does not throw.
/// - `launch(record)` queues the record: after everything that is in any queue, before everything
///   that comes. Any number of times; allocates nothing.
///
/// Events that were recorded on the other side of a border of a capture hold nothing up inside.
///
/// **Laws.** Nothing runs while it is captured; each launch runs it once; after `abandon_capture`
/// the device works as before. Law test: `graph_laws` in `tests/laws/device_abilities.hpp`.
///
/// **Models.** The GPU's.
template <class D>
concept graph_device = device<D> && requires(D& d, detail::captured_t<D> const& record) {
  { d.begin_capture() } -> std::same_as<void>;
  { d.end_capture() } -> std::move_constructible;
  { d.abandon_capture() } noexcept -> std::same_as<void>;
  { d.launch(record) } -> std::same_as<void>;
};

/// A device whose queues can be moved against each other, for tests.
///
/// **Intuition.** `stress_options::delay`: bugs of ordering show when queues are late.
///
/// **Minimal definition.** `set_delay(hook)`: `hook(queue, stream)` is called before each body, by
/// the thread that runs the body, with the stream that the body gets. Called before the first body.
///
/// **Laws.** The hook is called once a body, with the body's queue; no result changes. Law test:
/// `delay_laws` in `tests/laws/device_abilities.hpp`.
///
/// **Models.** `host_device`, the GPU's.
template <class D>
concept delayable_device =
    device<D> && requires(D& d, std::function<void(queue, typename D::stream_type)> hook) {
      { d.set_delay(hook) } -> std::same_as<void>;
    };

/// A device with clocks in its queues: `engine.start_timeline`. See `timed_stream`.
///
/// **Models.** `host_device`, the GPU's. Law test: `tests/laws/timeline.hpp`.
template <class D>
concept timeline_device = device<D> && timed_stream<typename D::stream_type>;

/// A device that is one of several and has a number among them.
///
/// **Minimal definition.** `ordinal()` does not change while the device lives. Where the
/// communicator says a number too, see `numbered_communicator`, an engine refuses two that differ:
/// memory of one device is nothing to the other.
///
/// **Models.** The GPU's.
template <class D>
concept numbered_device = device<D> && requires(D const& d) {
  { d.ordinal() } -> std::convertible_to<int>;
};

}  // namespace zero::inline ZERO_ABI
