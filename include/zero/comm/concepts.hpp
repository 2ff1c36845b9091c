// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/core/traffic.hpp>
#include <zero/version.hpp>

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>

namespace zero::inline ZERO_ABI {

/// Says which collective a call is, so that ranks which disagree are told so instead of mixing
/// their bytes.
///
/// The numbers are compared across the ranks of a call where the transport allows it; the names
/// are for messages alone and need to live only until the call has returned (null means unknown).
struct collective_tag {
  std::uint64_t sequence = 0;            ///< position of the call among those of its communicator
  std::int64_t step = 0;                 ///< optimizer step the call belongs to
  std::int32_t unit = -1;                ///< unit whose bytes travel; -1: none (e.g. the scalars)
  std::uint8_t operation = 0;            ///< kind of the scheduled operation
  std::uint8_t pass = 0;                 ///< kind of the pass
  char const* operation_name = nullptr;  ///< e.g. "gather"
  char const* unit_name = nullptr;       ///< e.g. "blocks.3"
  char const* pass_name = nullptr;       ///< e.g. "the only micro-step"

  /// True when two ranks are at the same point of the schedule; the names do not count.
  [[nodiscard]] constexpr bool matches(collective_tag const& other) const noexcept {
    return sequence == other.sequence && step == other.step && unit == other.unit &&
           operation == other.operation && pass == other.pass;
  }
};

/// One rank's end of a group of ranks that move memory together.
///
/// **Intuition.** All calls below the line are *collective*: every rank makes the same calls in
/// the same order, each with a tag that matches. They are ordered by `stream`, on whose device the
/// pointers live; buffers must stay valid and untouched until the stream has passed the call.
/// Distinct ranks' buffers never overlap.
///
/// **Minimal definition** (n = `size()`, r = `rank()`):
/// - `all_gather(stream, tag, send, receive, bytes)`: rank i's `bytes` at `send` arrive at
///   `receive + i * bytes`; `send` may be `receive + r * bytes` (in place).
/// - `all_to_others(stream, tag, send, send_stride_bytes, receive, bytes)`: an all-to-all in which
///   the own chunk stays where it is (`MPI_Neighbor_alltoall` on the complete graph). The chunk at
///   `send + j * send_stride_bytes` goes to rank j != r; the others' n - 1 chunks arrive one behind
///   the other in rank order, rank i's at `receive + place_among_others(i, r) * bytes`. The own
///   chunk of `send` is no part of the call: it may be read and written meanwhile. A world of one
///   rank moves nothing.
/// - `reduce_scatter(stream, tag, buffer, elements, type, prescale)`: `buffer` holds n *
/// `elements`;
///   afterwards the own shard, at element r * `elements`, is the sum over the ranks, formed in
///   `type`. Each contribution is first multiplied by `prescale` (1: left as it is) and rounded to
///   `type`. The other shards of `buffer` are unspecified.
/// - `all_reduce(stream, tag, buffer, elements, type)`: the sum over the ranks, in place; the same
///   bits on every rank.
/// - `broadcast(stream, tag, buffer, bytes, root)`: root's bytes, in place.
/// - `begin_group()`, `end_group()`: the calls between them may be moved as one; they nest, and
///   their effect is the same as without a group once the outermost one has ended.
/// - `abort(why)`: the other ranks' present and later calls fail with that text; returns at once.
/// - `leave()`: this rank makes no more calls. The calls it has made complete everywhere; any later
///   one fails on the others with "rank r left".
/// - `check()`: throws the failure that has been noticed, if any.
/// - `counters()`: the `traffic` of this rank so far.
///
/// **Laws.** all_gather of the reduce_scatter is the all_reduce, where sums are exact;
/// all_to_others twice with transposed chunks brings every chunk home, and touches nothing else;
/// broadcast leaves every rank with root's bytes; traffic follows the table of `traffic`; a call
/// with a foreign tag fails on all ranks. Law test: `tests/laws/communicator.hpp`.
///
/// **Models.** `local_communicator` (ranks as threads of one process), and its GPU and NCCL twins.
///
/// An engine moves the communicator that it is given, and makes the calls above in bodies of its
/// device's comm queue; `abort`, `check` and `counters` may come from any thread. A policy names
/// the communicator for a device policy D: `struct P { using policy_category =
/// communicator_category; template <class D> using communicator = ...; };`
///
/// **Optional.** Concepts of their own in `comm/abilities.hpp`: `peer_reading_communicator`,
/// `watching_communicator`, `registering_communicator`, `numbered_communicator`.
///
/// After construction no call allocates, except when it fails.
template <class C>
concept communicator = requires(C& c,
                                C const& observed,
                                typename C::stream_type stream,
                                collective_tag const& tag,
                                void const* send,
                                void* receive,
                                std::int64_t count,
                                dtype type,
                                double prescale,
                                int root,
                                std::string why) {
  { observed.rank() } noexcept -> std::same_as<int>;
  { observed.size() } noexcept -> std::same_as<int>;
  { c.all_gather(stream, tag, send, receive, count) } -> std::same_as<void>;
  { c.all_to_others(stream, tag, send, count, receive, count) } -> std::same_as<void>;
  { c.reduce_scatter(stream, tag, receive, count, type, prescale) } -> std::same_as<void>;
  { c.all_reduce(stream, tag, receive, count, type) } -> std::same_as<void>;
  { c.broadcast(stream, tag, receive, count, root) } -> std::same_as<void>;
  { c.begin_group() } -> std::same_as<void>;
  { c.end_group() } -> std::same_as<void>;
  { c.abort(std::move(why)) } noexcept -> std::same_as<void>;
  { c.leave() } noexcept -> std::same_as<void>;
  { observed.check() } -> std::same_as<void>;
  { observed.counters() } -> std::same_as<traffic>;
} && std::move_constructible<C>;

}  // namespace zero::inline ZERO_ABI
