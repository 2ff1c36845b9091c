// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/abilities.hpp>
#include <zero/comm/concepts.hpp>
#include <zero/comm/detail/local_text.hpp>
#include <zero/comm/detail/rank_sum.cuh>
#include <zero/comm/gpu/detail/local_seats.hpp>
#include <zero/core/dtype.hpp>
#include <zero/core/error.hpp>
#include <zero/core/rank_order.hpp>
#include <zero/core/traffic.hpp>
#include <zero/device/gpu/detail/launch.cuh>
#include <zero/device/gpu/device_guard.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/version.hpp>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
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
class local_gpu_communicator {
 public:
  using stream_type = cudaStream_t;

  /// Takes over what `other` has, which is left empty.
  local_gpu_communicator(local_gpu_communicator&& other) noexcept = default;

  /// Changes places with `other`.
  local_gpu_communicator& operator=(local_gpu_communicator&& other) noexcept {
    std::swap(seats_, other.seats_);
    std::swap(counters_, other.counters_);
    std::swap(rank_, other.rank_);
    std::swap(groups_, other.groups_);
    std::swap(reading_, other.reading_);
    std::swap(exceptions_, other.exceptions_);
    return *this;
  }

  ~local_gpu_communicator() {
    if (seats_ != nullptr) {
      if (std::uncaught_exceptions() > exceptions_) {
        abort("an exception ended it");
      }
      leave();
    }
  }

  /// This rank's number, from 0.
  [[nodiscard]] int rank() const noexcept { return rank_; }

  /// The number of ranks.
  [[nodiscard]] int size() const noexcept { return seats_->size(); }

  /// The device of this rank.
  [[nodiscard]] int device() const noexcept { return seats_->device(rank_); }

  /// Every rank's `bytes` at `send` arrive at `receive + rank * bytes`. Collective.
  /// @pre `send` is `receive + rank() * bytes`, or does not overlap `receive`
  /// @throws peer_error another rank failed, left or stalled
  /// @throws logic_error the ranks have come to different calls; cuda_error
  void all_gather(cudaStream_t stream,
                  collective_tag const& tag,
                  void const* send,
                  void* receive,
                  std::int64_t bytes) {
    expects(bytes >= 0, "zero::Local: all_gather needs a byte count that is not negative");
    collect(stream, tag, {.kind = collective::all_gather, .send = send, .bytes = bytes}, [&] {
      for (int i = 0; i < size(); ++i) {
        copy(stream, static_cast<char*>(receive) + i * bytes, call(i).send, i, bytes);
      }
    });
  }

  /// The chunk at `send + j * send_stride_bytes` goes to rank j, the own one nowhere; rank i's
  /// chunk arrives at `receive + place_among_others(i, rank()) * bytes`. The stride may differ
  /// between ranks. Collective.
  /// @pre `send` and `receive` do not overlap
  /// @throws peer_error another rank failed, left or stalled
  /// @throws logic_error the ranks have come to different calls; cuda_error
  void all_to_others(cudaStream_t stream,
                     collective_tag const& tag,
                     void const* send,
                     std::int64_t send_stride_bytes,
                     void* receive,
                     std::int64_t bytes) {
    expects(bytes >= 0, "zero::Local: all_to_others needs a byte count that is not negative");
    collect(stream,
            tag,
            {.kind = collective::all_to_others,
             .send = send,
             .send_stride = send_stride_bytes,
             .bytes = bytes},
            [&] {
              for (int i = 0; i < size(); ++i) {
                if (i != rank_) {
                  copy(stream,
                       static_cast<char*>(receive) + place_among_others(i, rank_) * bytes,
                       static_cast<char const*>(call(i).send) + rank_ * call(i).send_stride,
                       i,
                       bytes);
                }
              }
            });
  }

  /// The own shard of `buffer`, at element `rank() * elements`, becomes the sum over the ranks, in
  /// rank order and in `type`; each contribution is multiplied by `prescale` first. Collective.
  /// @param elements elements of one shard; `buffer` holds `size() * elements`
  /// @throws peer_error another rank failed, left or stalled
  /// @throws logic_error the ranks have come to different calls; cuda_error
  void reduce_scatter(cudaStream_t stream,
                      collective_tag const& tag,
                      void* buffer,
                      std::int64_t elements,
                      dtype type,
                      double prescale) {
    expects(elements >= 0, "zero::Local: reduce_scatter needs a count that is not negative");
    std::int64_t const bytes = elements * bytes_of(type);
    collect(stream,
            tag,
            {.kind = collective::reduce_scatter,
             .send = buffer,
             .bytes = bytes,
             .type = type,
             .prescale = prescale},
            [&] { sum(stream, buffer, rank_ * elements, elements, type, prescale); });
  }

  /// `buffer` becomes the sum over the ranks, in rank order and in `type`; the same bits on every
  /// rank. Collective.
  /// @throws peer_error another rank failed, left or stalled
  /// @throws logic_error the ranks have come to different calls; cuda_error
  void all_reduce(cudaStream_t stream,
                  collective_tag const& tag,
                  void* buffer,
                  std::int64_t elements,
                  dtype type) {
    expects(elements >= 0, "zero::Local: all_reduce needs a count that is not negative");
    std::int64_t const bytes = elements * bytes_of(type);
    // Rank i sums part i where it lies, then everybody copies the parts: no scratch is needed.
    auto const first = [&](int part) { return elements * part / size(); };
    collect(
        stream,
        tag,
        {.kind = collective::all_reduce, .send = buffer, .bytes = bytes, .type = type},
        [&] { sum(stream, buffer, first(rank_), first(rank_ + 1) - first(rank_), type, 1); },
        [&] {
          for (int i = 0; i < size(); ++i) {
            std::int64_t const offset = first(i) * bytes_of(type);
            copy(stream,
                 static_cast<char*>(buffer) + offset,
                 static_cast<char const*>(call(i).send) + offset,
                 i,
                 first(i + 1) * bytes_of(type) - offset);
          }
        });
  }

  /// `buffer` becomes root's. Collective.
  /// @throws peer_error another rank failed, left or stalled
  /// @throws logic_error the ranks have come to different calls, or there is no such root;
  /// cuda_error
  void broadcast(
      cudaStream_t stream, collective_tag const& tag, void* buffer, std::int64_t bytes, int root) {
    expects(bytes >= 0, "zero::Local: broadcast needs a byte count that is not negative");
    expects(root >= 0 && root < size(), "zero::Local: the root of a broadcast must be a rank");
    collect(stream,
            tag,
            {.kind = collective::broadcast, .send = buffer, .bytes = bytes, .root = root},
            [&] { copy(stream, buffer, call(root).send, root, bytes); });
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
  void abort(std::string why) noexcept { seats_->meeting().abort(rank_, std::move(why)); }

  /// This rank makes no more calls. Those it has made complete on the others undisturbed; any later
  /// one throws there: "rank r left after step s". May be called again.
  void leave() noexcept { seats_->meeting().leave(rank_); }

  /// Throws the failure of this world, if there is one. Any thread; one atomic read otherwise.
  void check() const { seats_->meeting().check(rank_); }

  /// What this rank has sent so far. Any thread.
  [[nodiscard]] traffic counters() const noexcept { return counters_->read(); }

  /// A communicator of the same ranks with calls of its own, for one more engine. Every rank must
  /// duplicate as often and in the same order; nobody waits. A failure of this world reaches its
  /// duplicates, not the other way round. Allocates.
  /// @throws peer_error this world has failed; cuda_error
  [[nodiscard]] local_gpu_communicator duplicate() {
    return local_gpu_communicator(seats_->duplicate(rank_), rank_);
  }

 private:
  friend class local_gpu_world;

  local_gpu_communicator(std::shared_ptr<detail::local_seats> seats, int rank)
      : seats_(std::move(seats)),
        counters_(std::make_unique<detail::traffic_counters>()),
        rank_(rank) {
    seats_->take(rank);
    gpu::device_guard const guard(device());
    detail::preload("rank_sum_kernel", detail::rank_sum_kernel<float>);
    detail::preload("rank_sum_kernel", detail::rank_sum_kernel<bf16>);
    detail::preload("rank_sum_kernel", detail::rank_sum_kernel<fp16>);
  }

  [[nodiscard]] detail::local_call const& call(int rank) const noexcept {
    return seats_->meeting().call(rank);
  }

  /// A collective: each phase enqueues reads of the others' buffers, after everything that the
  /// others had enqueued before the phase.
  template <class... Phases>
  void collect(cudaStream_t stream,
               collective_tag const& tag,
               detail::local_call const& mine,
               Phases&&... phases) {
    gpu::device_guard const guard(device());
    seats_->ready(rank_).record(stream);
    seats_->meeting().open(rank_, tag, mine);
    reading_ = true;
    counters_->add(mine.kind, mine.bytes, size(), rank_ == mine.root);
    int phase = 0;
    try {
      wait_for_others(stream, [&](int i) -> auto& { return seats_->ready(i); });
      (enqueue(stream, phase++, int{sizeof...(Phases)}, phases), ...);
    } catch (std::exception const& error) {
      give_up(error.what());
      throw;
    }
  }

  template <class Phase>
  void enqueue(cudaStream_t stream, int phase, int phases, Phase& body) {
    body();
    seats_->done(rank_, phase).record(stream);
    bool const again = phase + 1 < phases;
    reading_ = false;
    seats_->meeting().close(rank_, again);
    reading_ = again;
    wait_for_others(stream, [&](int i) -> auto& { return seats_->done(i, phase); });
  }

  /// After an error of this rank itself the others must not wait for it. Errors of the meeting come
  /// when it is over.
  void give_up(char const* why) noexcept {
    if (std::exchange(reading_, false)) {
      abort(why);
      try {
        seats_->meeting().close(rank_);
      } catch (...) {  // it throws what has just been told
      }
    }
  }

  template <class Event>
  void wait_for_others(cudaStream_t stream, Event event_of) const {
    for (int i = 0; i < size(); ++i) {
      if (i != rank_) {
        event_of(i).make_wait(stream);
      }
    }
  }

  /// Copies from rank `from`'s memory into this rank's.
  void copy(cudaStream_t stream, void* to, void const* source, int from, std::int64_t bytes) const {
    if (to == source || bytes == 0) {
      return;
    }
    auto const count = static_cast<std::size_t>(bytes);
    if (seats_->device(from) == device()) {
      check_cuda(cudaMemcpyAsync(to, source, count, cudaMemcpyDeviceToDevice, stream),
                 "cudaMemcpyAsync");
    } else {
      check_cuda(cudaMemcpyPeerAsync(to, device(), source, seats_->device(from), count, stream),
                 "cudaMemcpyPeerAsync");
    }
  }

  /// Sums elements [first, first + n) of all ranks' buffers into this rank's.
  void sum(cudaStream_t stream,
           void* buffer,
           std::int64_t first,
           std::int64_t n,
           dtype type,
           double prescale) const {
    detail::rank_addresses parts{};
    std::int64_t const offset = first * bytes_of(type);
    for (int i = 0; i < size(); ++i) {
      parts.at[i] = static_cast<char const*>(call(i).send) + offset;
    }
    visit_dtype(type, [&](auto tag) {
      detail::launch_rank_sum<typename decltype(tag)::type>(
          stream, parts, size(), n, prescale, static_cast<char*>(buffer) + offset);
    });
  }

  std::shared_ptr<detail::local_seats> seats_;
  std::unique_ptr<detail::traffic_counters> counters_;
  int rank_ = 0;
  int groups_ = 0;
  bool reading_ = false;  // between open and close: the others wait for this rank's close
  int exceptions_ = std::uncaught_exceptions();
};

static_assert(communicator<local_gpu_communicator>);
static_assert(numbered_communicator<local_gpu_communicator>);

}  // namespace zero::inline ZERO_ABI
