// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/communicator_shell.hpp>
#include <zero/comm/concepts.hpp>
#include <zero/comm/detail/local_meeting.hpp>
#include <zero/comm/detail/local_run.hpp>
#include <zero/comm/detail/local_transport.hpp>
#include <zero/core/error.hpp>
#include <zero/device/abilities.hpp>
#include <zero/device/host_stream.hpp>
#include <zero/fwd.hpp>
#include <zero/policy/communicator.hpp>
#include <zero/policy/concepts.hpp>
#include <zero/version.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <memory>
#include <string>
#include <utility>

namespace zero::inline ZERO_ABI {

/// What a local world may be told.
struct local_options {
  /// How long a rank waits for the others before all fail with the name of the one that is missing.
  /// Counted per collective; a rank that computes for longer than this looks like one that hangs.
  std::chrono::milliseconds stall_limit = std::chrono::seconds(120);
};

/// One rank of a world whose ranks are threads of this process and whose buffers are host memory: a
/// model of `communicator`.
///
/// A collective is: publish my pointer, meet, copy out of the others' buffers, meet again; nobody
/// returns while his buffer is being read. The calling thread does the copying and sleeps while it
/// waits, so an engine calls from its communication thread. Calls are compared across ranks: tag,
/// kind, byte count, type, root and scale.
///
/// Sums are formed in rank order, each partial sum rounded to the wire type; the prescale is
/// rounded to FP32 once, and the scaled contribution to the wire type before it is added.
///
/// Cost: two meetings a call (three for all_reduce) and the bytes it receives; no allocation.
/// A group is only counted: its calls are done one by one.
///
/// Move-only, with the rules for threads of @ref communicator_shell. The destructor leaves; while
/// an exception unwinds the stack it aborts, so that the others hear of it at once. Failures name
/// the rank and its last place in the schedule.
class local_communicator : public communicator_shell<detail::local_transport> {
 public:
  /// A communicator of the same ranks with calls of its own, for one more engine. Every rank must
  /// duplicate as often and in the same order; nobody waits. A failure of this world reaches its
  /// duplicates, not the other way round. Allocates.
  /// @throws peer_error this world has failed
  [[nodiscard]] local_communicator duplicate() { return {transport().duplicate(), rank()}; }

 private:
  friend class local_world;

  local_communicator(std::shared_ptr<detail::local_meeting> meeting, int rank)
      : communicator_shell(std::in_place, std::move(meeting), rank) {}
};

static_assert(communicator<local_communicator>);

/// A world of ranks that are threads of this process. A handle: copies share the world, and each
/// rank's thread takes its communicator from it.
class local_world {
 public:
  /// @param ranks the number of ranks, at least 1
  /// @throws logic_error fewer ranks than 1
  explicit local_world(int ranks, local_options options = {})
      : meeting_(make_meeting(ranks, options)) {}

  /// The number of ranks.
  [[nodiscard]] int size() const noexcept { return meeting_->size(); }

  /// The communicator of one rank; each rank's can be taken once. Any thread. Allocates.
  /// @throws logic_error no such rank, or its communicator has been taken
  [[nodiscard]] local_communicator communicator(int rank) const { return {meeting_, rank}; }

  /// Makes the whole world fail, as if `rank` had: for whoever started a rank's thread and saw it
  /// die.
  void abort(int rank, std::string const& why) const noexcept { meeting_->abort(rank, why); }

 private:
  static std::shared_ptr<detail::local_meeting> make_meeting(int ranks, local_options options) {
    precondition(ranks >= 1, "zero::Local: a world needs at least one rank");
    // Added to the time of now, more could overflow the clock.
    std::chrono::milliseconds const limit =
        std::clamp<std::chrono::milliseconds>(options.stall_limit, {}, std::chrono::years(10));
    return std::make_shared<detail::local_meeting>(ranks, limit);
  }

  std::shared_ptr<detail::local_meeting> meeting_;
};

namespace detail {

/// The communicator of local ranks on a device; the GPU headers add theirs.
template <class Device>
struct local_communicator_of;

/// On every device whose memory is the host's and whose stream is, too: it is the calling thread
/// that copies.
template <class Device>
  requires std::same_as<typename Device::device::stream_type, host_stream> &&
           (!separate_memory_device<typename Device::device>)
struct local_communicator_of<Device> {
  using type = local_communicator;
};

/// Which may be asked for before the host device is defined.
template <>
struct local_communicator_of<Host> {
  using type = local_communicator;
};

}  // namespace detail

/// The communicator policy of ranks that are threads of one process: tests, laptops, and several
/// GPUs driven by one process. The default.
struct Local {
  using policy_category = communicator_category;

  /// The communicator class on a device policy, e.g. `Local::communicator<Host>`. There is one for
  /// `Host`, for `Cuda`, and for every device policy of your own whose device has the host's memory
  /// and `host_stream`.
  template <class Device>
  using communicator = typename detail::local_communicator_of<Device>::type;

  /// A world of `ranks` ranks; see `local_world`.
  [[nodiscard]] static local_world world(int ranks, local_options options = {}) {
    return local_world(ranks, options);
  }

  /// Runs `body(local_communicator)` once a rank, each on a thread of its own, and returns when all
  /// have ended. A rank that throws makes the others fail at once.
  /// @throws the exception that was thrown first, one that is no consequence of another rank's
  ///         failure (peer_error) where there is one
  template <class Body>
  static void run(int ranks, Body&& body, local_options options = {}) {
    local_world const world(ranks, options);
    detail::run_ranks(
        ranks,
        [&](int rank) { body(world.communicator(rank)); },
        [&](int rank, std::string const& why) { world.abort(rank, why); });
  }
};

static_assert(policy_of<Local, communicator_category>);

}  // namespace zero::inline ZERO_ABI
