// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>
#include <zero/comm/detail/counted_groups.hpp>
#include <zero/comm/detail/local_text.hpp>
#include <zero/comm/detail/rank_sum.cuh>
#include <zero/comm/gpu/detail/local_seats.hpp>
#include <zero/comm/transport.hpp>
#include <zero/core/dtype.hpp>
#include <zero/core/rank_order.hpp>
#include <zero/core/traffic.hpp>
#include <zero/device/gpu/device_guard.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/device/gpu/launch.cuh>
#include <zero/version.hpp>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace zero::inline ZERO_ABI::detail {

/// What stands behind a `local_gpu_communicator`: one of the seats. A model of `transport`.
class local_gpu_transport : public counted_groups {
 public:
  using stream_type = cudaStream_t;

  static constexpr char const* name = "zero::Local";

  local_gpu_transport(std::shared_ptr<local_seats> seats, int rank)
      : seats_(std::move(seats)),
        rank_(rank) {
    seats_->take(rank);
    gpu::device_guard const guard(device());
    gpu::preload("rank_sum_kernel", rank_sum_kernel<float>);
    gpu::preload("rank_sum_kernel", rank_sum_kernel<bf16>);
    gpu::preload("rank_sum_kernel", rank_sum_kernel<fp16>);
  }

  [[nodiscard]] int rank() const noexcept { return rank_; }

  [[nodiscard]] int size() const noexcept { return seats_->size(); }

  [[nodiscard]] int device() const noexcept { return seats_->device(rank_); }

  void all_gather(cudaStream_t stream,
                  collective_tag const& tag,
                  void const* send,
                  void* receive,
                  std::int64_t bytes) {
    collect(stream, tag, {.kind = collective::all_gather, .send = send, .bytes = bytes}, [&] {
      for (int i = 0; i < size(); ++i) {
        copy(stream, static_cast<char*>(receive) + i * bytes, call(i).send, i, bytes);
      }
    });
  }

  void all_to_others(cudaStream_t stream,
                     collective_tag const& tag,
                     void const* send,
                     std::int64_t send_stride_bytes,
                     void* receive,
                     std::int64_t bytes) {
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

  void reduce_scatter(cudaStream_t stream,
                      collective_tag const& tag,
                      void* buffer,
                      std::int64_t elements,
                      dtype type,
                      double prescale) {
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

  void all_reduce(cudaStream_t stream,
                  collective_tag const& tag,
                  void* buffer,
                  std::int64_t elements,
                  dtype type) {
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

  void broadcast(
      cudaStream_t stream, collective_tag const& tag, void* buffer, std::int64_t bytes, int root) {
    collect(stream,
            tag,
            {.kind = collective::broadcast, .send = buffer, .bytes = bytes, .root = root},
            [&] { copy(stream, buffer, call(root).send, root, bytes); });
  }

  void abort(std::string const& why) noexcept { seats_->meeting().abort(rank_, why); }

  void leave() noexcept { seats_->meeting().leave(rank_); }

  void finish() noexcept { leave(); }

  void check() const { seats_->meeting().check(rank_); }

  /// The seats of this rank's next duplicate.
  [[nodiscard]] std::shared_ptr<local_seats> duplicate() { return seats_->duplicate(rank_); }

 private:
  [[nodiscard]] local_call const& call(int rank) const noexcept {
    return seats_->meeting().call(rank);
  }

  /// A collective: each phase enqueues reads of the others' buffers, after everything that the
  /// others had enqueued before the phase.
  template <class... Phases>
  void collect(cudaStream_t stream,
               collective_tag const& tag,
               local_call const& mine,
               Phases&&... phases) {
    gpu::device_guard const guard(device());
    seats_->ready(rank_).record(stream);
    seats_->meeting().open(rank_, tag, mine);
    reading_ = true;
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
    rank_addresses parts{};
    std::int64_t const offset = first * bytes_of(type);
    for (int i = 0; i < size(); ++i) {
      parts.at[i] = static_cast<char const*>(call(i).send) + offset;
    }
    visit_dtype(type, [&](auto tag) {
      launch_rank_sum<typename decltype(tag)::type>(
          stream, parts, size(), n, prescale, static_cast<char*>(buffer) + offset);
    });
  }

  std::shared_ptr<local_seats> seats_;
  int rank_;
  bool reading_ = false;  // between open and close: the others wait for this rank's close
};

static_assert(transport<local_gpu_transport>);

}  // namespace zero::inline ZERO_ABI::detail
