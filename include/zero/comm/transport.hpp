// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>
#include <zero/core/dtype.hpp>
#include <zero/version.hpp>

#include <concepts>
#include <cstdint>
#include <string>

namespace zero::inline ZERO_ABI {

/// What moves the bytes of one rank of a `communicator`, without what all communicators do
/// alike: `communicator_shell<T>` adds that, and is the communicator.
///
/// **Intuition.** The calls are those of `communicator`, with the same order, tags and streams. The
/// shell has judged their arguments: counts are not negative, a root is a rank, a prescale is
/// finite, no group ends that has not begun. It counts a call when it has returned.
///
/// **Minimal definition**, besides the collectives:
/// - `T::name`: whose sentences the refusals are, e.g. `"zero::Local"`;
/// - `in_group()`: whether a group is open, which an error may have closed;
/// - `finish()`: the last call, unless the transport is moved from: waits for what must not end in
///   silence and says to the others that this rank has left. Comes after `abort` where an exception
///   ends the communicator, and may come after `leave`.
///
/// **Laws.** Those of `communicator`, for the shell around it: `tests/laws/communicator.hpp`.
///
/// **Models.** What stands behind `local_communicator`, `local_gpu_communicator` and
/// `nccl_communicator`; `peer_transport`.
template <class T>
concept transport = requires(T& t,
                             T const& observed,
                             typename T::stream_type stream,
                             collective_tag const& tag,
                             void const* send,
                             void* receive,
                             std::int64_t count,
                             dtype type,
                             double prescale,
                             int root,
                             std::string const& why) {
  { T::name } -> std::convertible_to<char const*>;
  { observed.rank() } noexcept -> std::same_as<int>;
  { observed.size() } noexcept -> std::same_as<int>;
  { t.all_gather(stream, tag, send, receive, count) } -> std::same_as<void>;
  { t.all_to_others(stream, tag, send, count, receive, count) } -> std::same_as<void>;
  { t.reduce_scatter(stream, tag, receive, count, type, prescale) } -> std::same_as<void>;
  { t.all_reduce(stream, tag, receive, count, type) } -> std::same_as<void>;
  { t.broadcast(stream, tag, receive, count, root) } -> std::same_as<void>;
  { t.begin_group() } -> std::same_as<void>;
  { t.end_group() } -> std::same_as<void>;
  { observed.in_group() } noexcept -> std::same_as<bool>;
  { t.abort(why) } noexcept -> std::same_as<void>;
  { t.leave() } noexcept -> std::same_as<void>;
  { t.finish() } noexcept -> std::same_as<void>;
  { t.check() } -> std::same_as<void>;
};

}  // namespace zero::inline ZERO_ABI
