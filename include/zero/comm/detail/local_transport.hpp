// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>
#include <zero/comm/detail/counted_groups.hpp>
#include <zero/comm/detail/local_meeting.hpp>
#include <zero/comm/detail/local_reduce.hpp>
#include <zero/comm/detail/local_text.hpp>
#include <zero/comm/transport.hpp>
#include <zero/core/dtype.hpp>
#include <zero/core/rank_order.hpp>
#include <zero/core/traffic.hpp>
#include <zero/device/host_stream.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

namespace zero::inline ZERO_ABI::detail {

/// What stands behind a `local_communicator`: one seat of a meeting. A model of `transport`.
class local_transport : public counted_groups {
 public:
  using stream_type = host_stream;

  static constexpr char const* name = "zero::Local";

  local_transport(std::shared_ptr<local_meeting> meeting, int rank)
      : meeting_(std::move(meeting)),
        rank_(rank) {
    meeting_->take_seat(rank);
  }

  [[nodiscard]] int rank() const noexcept { return rank_; }

  [[nodiscard]] int size() const noexcept { return meeting_->size(); }

  void all_gather(host_stream /*stream*/,
                  collective_tag const& tag,
                  void const* send,
                  void* receive,
                  std::int64_t bytes) {
    meeting_->open(rank_, tag, {.kind = collective::all_gather, .send = send, .bytes = bytes});
    for (int i = 0; i < size(); ++i) {
      copy(static_cast<char*>(receive) + i * bytes, meeting_->call(i).send, bytes);
    }
    meeting_->close(rank_);
  }

  void all_to_others(host_stream /*stream*/,
                     collective_tag const& tag,
                     void const* send,
                     std::int64_t send_stride_bytes,
                     void* receive,
                     std::int64_t bytes) {
    meeting_->open(rank_,
                   tag,
                   {.kind = collective::all_to_others,
                    .send = send,
                    .send_stride = send_stride_bytes,
                    .bytes = bytes});
    for (int i = 0; i < size(); ++i) {
      if (i != rank_) {
        local_call const& peer = meeting_->call(i);
        copy(static_cast<char*>(receive) + place_among_others(i, rank_) * bytes,
             static_cast<char const*>(peer.send) + rank_ * peer.send_stride,
             bytes);
      }
    }
    meeting_->close(rank_);
  }

  void reduce_scatter(host_stream /*stream*/,
                      collective_tag const& tag,
                      void* buffer,
                      std::int64_t elements,
                      dtype type,
                      double prescale) {
    std::int64_t const bytes = elements * bytes_of(type);
    meeting_->open(rank_,
                   tag,
                   {.kind = collective::reduce_scatter,
                    .send = buffer,
                    .bytes = bytes,
                    .type = type,
                    .prescale = prescale});
    reduce_range(*meeting_, buffer, rank_ * elements, elements, type, prescale);
    meeting_->close(rank_);
  }

  void all_reduce(host_stream /*stream*/,
                  collective_tag const& tag,
                  void* buffer,
                  std::int64_t elements,
                  dtype type) {
    std::int64_t const bytes = elements * bytes_of(type);
    meeting_->open(
        rank_, tag, {.kind = collective::all_reduce, .send = buffer, .bytes = bytes, .type = type});
    // Rank i sums part i where it lies, then everybody copies the parts: no scratch is needed.
    auto const first = [&](int part) { return elements * part / size(); };
    reduce_range(*meeting_, buffer, first(rank_), first(rank_ + 1) - first(rank_), type, 1);
    meeting_->close(rank_, true);
    for (int i = 0; i < size(); ++i) {
      std::int64_t const offset = first(i) * bytes_of(type);
      copy(static_cast<char*>(buffer) + offset,
           static_cast<char const*>(meeting_->call(i).send) + offset,
           first(i + 1) * bytes_of(type) - offset);
    }
    meeting_->close(rank_);
  }

  void broadcast(host_stream /*stream*/,
                 collective_tag const& tag,
                 void* buffer,
                 std::int64_t bytes,
                 int root) {
    meeting_->open(
        rank_, tag, {.kind = collective::broadcast, .send = buffer, .bytes = bytes, .root = root});
    copy(buffer, meeting_->call(root).send, bytes);
    meeting_->close(rank_);
  }

  void abort(std::string const& why) noexcept { meeting_->abort(rank_, why); }

  void leave() noexcept { meeting_->leave(rank_); }

  void finish() noexcept { leave(); }

  void check() const { meeting_->check(rank_); }

  /// The meeting of this rank's next duplicate.
  [[nodiscard]] std::shared_ptr<local_meeting> duplicate() { return meeting_->duplicate(rank_); }

 private:
  static void copy(void* to, void const* from, std::int64_t bytes) noexcept {
    if (to != from && bytes > 0) {
      std::memcpy(to, from, static_cast<std::size_t>(bytes));
    }
  }

  std::shared_ptr<local_meeting> meeting_;
  int rank_;
};

static_assert(transport<local_transport>);

}  // namespace zero::inline ZERO_ABI::detail
