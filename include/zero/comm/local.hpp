// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>
#include <zero/comm/detail/local_meeting.hpp>
#include <zero/comm/detail/local_reduce.hpp>
#include <zero/comm/detail/local_run.hpp>
#include <zero/core/arithmetic.hpp>
#include <zero/core/dtype.hpp>
#include <zero/core/error.hpp>
#include <zero/core/rank_order.hpp>
#include <zero/core/traffic.hpp>
#include <zero/device/abilities.hpp>
#include <zero/device/host_stream.hpp>
#include <zero/fwd.hpp>
#include <zero/policy/communicator.hpp>
#include <zero/policy/concepts.hpp>
#include <zero/version.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <exception>
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
/// Move-only. One thread at a time makes the collective calls; `abort`, `check` and `counters` may
/// come from any thread. The destructor leaves; while an exception unwinds the stack it aborts, so
/// that the others hear of it at once. A moved-from communicator can only be destroyed or assigned.
class local_communicator {
 public:
  using stream_type = host_stream;

  /// Takes the other's seat; what is left of it can only be destroyed or assigned to.
  local_communicator(local_communicator&& other) noexcept = default;

  /// Swaps seats: what this was leaves when `other` is destroyed.
  local_communicator& operator=(local_communicator&& other) noexcept {
    std::swap(meeting_, other.meeting_);
    std::swap(counters_, other.counters_);
    std::swap(rank_, other.rank_);
    std::swap(groups_, other.groups_);
    std::swap(exceptions_, other.exceptions_);
    return *this;
  }

  ~local_communicator() {
    if (meeting_ != nullptr) {
      if (std::uncaught_exceptions() > exceptions_) {
        abort("an exception ended it");
      }
      leave();
    }
  }

  /// This rank's number, from 0.
  [[nodiscard]] int rank() const noexcept { return rank_; }

  /// The number of ranks.
  [[nodiscard]] int size() const noexcept { return meeting_->size(); }

  /// Every rank's `bytes` at `send` arrive at `receive + rank * bytes`. Collective.
  /// @pre `send` is `receive + rank() * bytes`, or does not overlap `receive`
  /// @throws peer_error another rank failed, left or stalled
  /// @throws logic_error the ranks have come to different calls
  void all_gather(host_stream /*stream*/,
                  collective_tag const& tag,
                  void const* send,
                  void* receive,
                  std::int64_t bytes) {
    expects(bytes >= 0, "zero::Local: all_gather needs a byte count that is not negative");
    begin({.kind = collective::all_gather, .send = send, .bytes = bytes}, tag, bytes);
    for (int i = 0; i < size(); ++i) {
      copy(static_cast<char*>(receive) + i * bytes, meeting_->call(i).send, bytes);
    }
    meeting_->close(rank_);
  }

  /// The chunk at `send + j * send_stride_bytes` goes to rank j, the own one nowhere; rank i's
  /// chunk arrives at `receive + place_among_others(i, rank()) * bytes`. The stride may differ
  /// between ranks. Collective.
  /// @pre `send` and `receive` do not overlap
  /// @throws peer_error another rank failed, left or stalled
  /// @throws logic_error the ranks have come to different calls
  void all_to_others(host_stream /*stream*/,
                     collective_tag const& tag,
                     void const* send,
                     std::int64_t send_stride_bytes,
                     void* receive,
                     std::int64_t bytes) {
    expects(bytes >= 0, "zero::Local: all_to_others needs a byte count that is not negative");
    begin({.kind = collective::all_to_others,
           .send = send,
           .send_stride = send_stride_bytes,
           .bytes = bytes},
          tag,
          bytes);
    for (int i = 0; i < size(); ++i) {
      if (i != rank_) {
        detail::local_call const& peer = meeting_->call(i);
        copy(static_cast<char*>(receive) + place_among_others(i, rank_) * bytes,
             static_cast<char const*>(peer.send) + rank_ * peer.send_stride,
             bytes);
      }
    }
    meeting_->close(rank_);
  }

  /// The own shard of `buffer`, at element `rank() * elements`, becomes the sum over the ranks, in
  /// rank order and in `type`; each contribution is multiplied by `prescale` first. Collective.
  /// @param elements elements of one shard; `buffer` holds `size() * elements`
  /// @throws peer_error another rank failed, left or stalled
  /// @throws logic_error the ranks have come to different calls
  void reduce_scatter(host_stream /*stream*/,
                      collective_tag const& tag,
                      void* buffer,
                      std::int64_t elements,
                      dtype type,
                      double prescale) {
    expects(elements >= 0, "zero::Local: reduce_scatter needs a count that is not negative");
    expects(is_finite(prescale), "zero::Local: the prescale of a reduce_scatter must be finite");
    std::int64_t const bytes = elements * bytes_of(type);
    begin({.kind = collective::reduce_scatter,
           .send = buffer,
           .bytes = bytes,
           .type = type,
           .prescale = prescale},
          tag,
          bytes);
    detail::reduce_range(*meeting_, buffer, rank_ * elements, elements, type, prescale);
    meeting_->close(rank_);
  }

  /// `buffer` becomes the sum over the ranks, in rank order and in `type`; the same bits on every
  /// rank. Collective.
  /// @throws peer_error another rank failed, left or stalled
  /// @throws logic_error the ranks have come to different calls
  void all_reduce(host_stream /*stream*/,
                  collective_tag const& tag,
                  void* buffer,
                  std::int64_t elements,
                  dtype type) {
    expects(elements >= 0, "zero::Local: all_reduce needs a count that is not negative");
    std::int64_t const bytes = elements * bytes_of(type);
    begin(
        {.kind = collective::all_reduce, .send = buffer, .bytes = bytes, .type = type}, tag, bytes);
    // Rank i sums part i where it lies, then everybody copies the parts: no scratch is needed.
    auto const first = [&](int part) { return elements * part / size(); };
    detail::reduce_range(*meeting_, buffer, first(rank_), first(rank_ + 1) - first(rank_), type, 1);
    meeting_->close(rank_, true);
    for (int i = 0; i < size(); ++i) {
      std::int64_t const offset = first(i) * bytes_of(type);
      copy(static_cast<char*>(buffer) + offset,
           static_cast<char const*>(meeting_->call(i).send) + offset,
           first(i + 1) * bytes_of(type) - offset);
    }
    meeting_->close(rank_);
  }

  /// `buffer` becomes root's. Collective.
  /// @throws peer_error another rank failed, left or stalled
  /// @throws logic_error the ranks have come to different calls, or there is no such root
  void broadcast(host_stream /*stream*/,
                 collective_tag const& tag,
                 void* buffer,
                 std::int64_t bytes,
                 int root) {
    expects(bytes >= 0, "zero::Local: broadcast needs a byte count that is not negative");
    expects(root >= 0 && root < size(), "zero::Local: the root of a broadcast must be a rank");
    begin({.kind = collective::broadcast, .send = buffer, .bytes = bytes, .root = root},
          tag,
          bytes,
          rank_ == root);
    copy(buffer, meeting_->call(root).send, bytes);
    meeting_->close(rank_);
  }

  /// Begins a group of calls. Groups nest.
  void begin_group() noexcept { ++groups_; }

  /// Ends a group of calls.
  /// @throws logic_error no group has begun
  void end_group() {
    expects(groups_ > 0, "zero::Local: end_group without begin_group");
    --groups_;
  }

  /// This rank has failed: the others' present and later calls throw a peer_error with this rank,
  /// its last place in the schedule and `why`. Any thread; returns at once; the first failure
  /// stays.
  void abort(std::string const& why) noexcept { meeting_->abort(rank_, why); }

  /// This rank makes no more calls. Those it has made complete on the others undisturbed; any later
  /// one throws there: "rank r left after step s". May be called again.
  void leave() noexcept { meeting_->leave(rank_); }

  /// Throws the failure of this world, if there is one. Any thread; one atomic read otherwise.
  void check() const { meeting_->check(rank_); }

  /// What this rank has sent so far. Any thread.
  [[nodiscard]] traffic counters() const noexcept { return counters_->read(); }

  /// A communicator of the same ranks with calls of its own, for one more engine. Every rank must
  /// duplicate as often and in the same order; nobody waits. A failure of this world reaches its
  /// duplicates, not the other way round. Allocates.
  /// @throws peer_error this world has failed
  [[nodiscard]] local_communicator duplicate() { return {meeting_->duplicate(rank_), rank_}; }

 private:
  friend class local_world;

  local_communicator(std::shared_ptr<detail::local_meeting> meeting, int rank)
      : meeting_(std::move(meeting)),
        counters_(std::make_unique<detail::traffic_counters>()),
        rank_(rank) {
    meeting_->take_seat(rank);
  }

  void begin(detail::local_call const& call,
             collective_tag const& tag,
             std::int64_t bytes,
             bool is_root = true) {
    meeting_->open(rank_, tag, call);
    counters_->add(call.kind, bytes, size(), is_root);
  }

  static void copy(void* to, void const* from, std::int64_t bytes) noexcept {
    if (to != from && bytes > 0) {
      std::memcpy(to, from, static_cast<std::size_t>(bytes));
    }
  }

  std::shared_ptr<detail::local_meeting> meeting_;
  std::unique_ptr<detail::traffic_counters> counters_;
  int rank_ = 0;
  int groups_ = 0;
  int exceptions_ = std::uncaught_exceptions();
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
    expects(ranks >= 1, "zero::Local: a world needs at least one rank");
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
