// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>
#include <zero/comm/transport.hpp>
#include <zero/core/arithmetic.hpp>
#include <zero/core/dtype.hpp>
#include <zero/core/error.hpp>
#include <zero/core/traffic.hpp>
#include <zero/version.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace zero::inline ZERO_ABI {

/// A model of `communicator` around a `transport`: what communicators have in common. It
/// judges arguments, counts what is sent, and ends a rank as it should; the transport moves bytes.
///
/// Move-only. One thread at a time makes the collective calls; `abort`, `check` and `counters` may
/// come from any thread. The destructor leaves, and ends what the transport has in flight; while an
/// exception unwinds the stack it aborts first, so that the others hear of it. A moved-from
/// communicator can only be destroyed or assigned to.
///
/// Besides what a function names, the calls throw what the transport throws: `peer_error` when
/// another rank has failed, left or stalled, `logic_error` when the ranks have come to different
/// calls and the transport notices, and the errors of the library below.
///
/// Cost: one allocation at construction, two atomic additions a call.
template <transport Transport>
class communicator_shell {
 public:
  using stream_type = typename Transport::stream_type;

  /// Makes the transport of `args`.
  template <class... Args>
  explicit communicator_shell(std::in_place_t /*tag*/, Args&&... args)
      : inside_(std::make_unique<inside>(std::forward<Args>(args)...)) {}

  /// Takes the other's place; what is left of it can only be destroyed or assigned to.
  communicator_shell(communicator_shell&& other) noexcept = default;

  /// Changes places: what this was ends when `other` is destroyed.
  communicator_shell& operator=(communicator_shell&& other) noexcept {
    std::swap(inside_, other.inside_);
    std::swap(exceptions_, other.exceptions_);
    return *this;
  }

  ~communicator_shell() {
    if (inside_ != nullptr) {
      if (std::uncaught_exceptions() > exceptions_) {
        abort("an exception ended it");
      }
      transport().finish();
    }
  }

  /// This rank's number, from 0.
  [[nodiscard]] int rank() const noexcept { return transport().rank(); }

  /// The number of ranks.
  [[nodiscard]] int size() const noexcept { return transport().size(); }

  /// Every rank's `bytes` at `send` arrive at `receive + rank * bytes`. Collective.
  /// @pre `send` is `receive + rank() * bytes`, or does not overlap `receive`
  void all_gather(stream_type stream,
                  collective_tag const& tag,
                  void const* send,
                  void* receive,
                  std::int64_t bytes) {
    require(bytes >= 0, "all_gather needs a byte count that is not negative");
    transport().all_gather(stream, tag, send, receive, bytes);
    count(collective::all_gather, bytes);
  }

  /// The chunk at `send + j * send_stride_bytes` goes to rank j, the own one nowhere; rank i's
  /// chunk arrives at `receive + place_among_others(i, rank()) * bytes`. The stride may differ
  /// between ranks. Collective.
  /// @pre `send` and `receive` do not overlap
  void all_to_others(stream_type stream,
                     collective_tag const& tag,
                     void const* send,
                     std::int64_t send_stride_bytes,
                     void* receive,
                     std::int64_t bytes) {
    require(bytes >= 0, "all_to_others needs a byte count that is not negative");
    transport().all_to_others(stream, tag, send, send_stride_bytes, receive, bytes);
    count(collective::all_to_others, bytes);
  }

  /// The own shard of `buffer`, at element `rank() * elements`, becomes the sum over the ranks,
  /// formed in `type`; each contribution is multiplied by `prescale` first. Collective.
  /// @param elements elements of one shard; `buffer` holds `size() * elements`
  void reduce_scatter(stream_type stream,
                      collective_tag const& tag,
                      void* buffer,
                      std::int64_t elements,
                      dtype type,
                      double prescale) {
    require(elements >= 0, "reduce_scatter needs a count that is not negative");
    require(is_finite(prescale), "the prescale of a reduce_scatter must be finite");
    transport().reduce_scatter(stream, tag, buffer, elements, type, prescale);
    count(collective::reduce_scatter, elements * bytes_of(type));
  }

  /// `buffer` becomes the sum over the ranks, formed in `type`; the same bits on every rank.
  /// Collective.
  void all_reduce(stream_type stream,
                  collective_tag const& tag,
                  void* buffer,
                  std::int64_t elements,
                  dtype type) {
    require(elements >= 0, "all_reduce needs a count that is not negative");
    transport().all_reduce(stream, tag, buffer, elements, type);
    count(collective::all_reduce, elements * bytes_of(type));
  }

  /// `buffer` becomes root's. Collective.
  /// @throws logic_error there is no such root
  void broadcast(
      stream_type stream, collective_tag const& tag, void* buffer, std::int64_t bytes, int root) {
    require(bytes >= 0, "broadcast needs a byte count that is not negative");
    require(root >= 0 && root < size(), "the root of a broadcast must be a rank");
    transport().broadcast(stream, tag, buffer, bytes, root);
    count(collective::broadcast, bytes, rank() == root);
  }

  /// Begins a group: calls, all on one stream and none needing what another one brings, which the
  /// transport may launch together when the outermost group ends. Groups nest. A call in a group
  /// that throws may end it.
  void begin_group() { transport().begin_group(); }

  /// Ends a group of calls.
  /// @throws logic_error no group has begun
  void end_group() {
    require(transport().in_group(), "end_group without begin_group");
    transport().end_group();
  }

  /// This rank has failed: its calls, and where the transport can tell the others also theirs,
  /// present and later ones, throw a `peer_error` with this rank and `why`. Any thread; returns at
  /// once; the first failure stays.
  void abort(std::string const& why) noexcept { transport().abort(why); }

  /// This rank makes no more calls; any later one throws here. Those it has made complete on the
  /// others undisturbed; one that still wants this rank fails. May be called again.
  void leave() noexcept { transport().leave(); }

  /// Throws the failure that has been noticed, if there is one. Any thread; a few atomic reads
  /// otherwise.
  void check() const { transport().check(); }

  /// What this rank has sent so far: the calls that have returned. Any thread.
  [[nodiscard]] traffic counters() const noexcept { return inside_->counters.read(); }

 protected:
  /// The transport.
  [[nodiscard]] Transport& transport() const noexcept { return inside_->transport; }

  /// Counts one call, of a derived class.
  void count(collective kind, std::int64_t bytes, bool is_root = true) noexcept {
    inside_->counters.add(kind, bytes, size(), is_root);
  }

 private:
  struct inside {
    template <class... Args>
    explicit inside(Args&&... args)
        : transport(std::forward<Args>(args)...) {}

    Transport transport;
    detail::traffic_counters counters;
  };

  static void require(bool holds,
                      char const* what,
                      source_location where = source_location::current()) {
    if (!holds) [[unlikely]] {
      throw logic_error(std::string(Transport::name) + ": " + what, where);
    }
  }

  std::unique_ptr<inside> inside_;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace zero::inline ZERO_ABI
