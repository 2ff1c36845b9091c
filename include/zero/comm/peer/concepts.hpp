// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>
#include <zero/comm/peer/news.hpp>
#include <zero/comm/transport.hpp>
#include <zero/core/traffic.hpp>
#include <zero/version.hpp>

#include <concepts>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace zero::inline ZERO_ABI {

/// How a communicator calls what its users choose, for the sentences that refuse to share memory.
struct peer_words {
  char const* name;    ///< the communicator, e.g. "zero::Nccl"
  char const* option;  ///< what makes its ranks share memory, e.g. "nccl_registration::peers"
  char const* plain;   ///< what does without, e.g. "nccl_registration::none"
};

/// A transport that `peer_transport` can decorate: its ranks then read and write each other's
/// memory where they can, and it moves the rest.
///
/// **Intuition.** The decorator puts copies, kernels and waits for other ranks into streams. From
/// the transport it needs a way to exchange a few bytes while ranks are set up, and somebody who
/// watches: over operations that do not end, failures, and the order of the end.
///
/// **Minimal definition**, besides `transport`:
/// - `B::words`: a `peer_words`;
/// - `device()`: the rank's device;
/// - `gather(value, what)`: all ranks' values in rank order, of a trivially copyable type.
///   Collective, waits, may allocate; `what` is for messages;
/// - `set_up(f)`: calls `f()`, a part of the construction. When it throws, the ranks that refuse
///   alike (`logic_error`) meet first, so that each throws its own refusal; the rank has failed,
///   the transport has closed, and the exception goes on;
/// - `operate(stream, tag, kind, f)`: calls `f()`, which enqueues an operation on `stream`, and
///   watches over it; inside a group over the group. Throws the rank's failure before, if there is
///   one; when `f` throws, the rank has failed;
/// - `end_group(f)`: as `end_group()`; `f()` is called when the outermost group's calls are in
///   their stream, and what it enqueues is still watched;
/// - `begin_watch(stream, tag)`, `end_watch(stream)`: the same around what is no collective, e.g. a
///   graph that holds some;
/// - `fail(error)`: the rank has failed of that; the first failure stays. `failed()`: whether it
///   has;
/// - `listen_to(news)`: from now on, until `close`, whoever watches hears the news: fails when
///   another rank has failed, when an operation waits for a rank that is gone for long or dead;
///   tells the failure of this rank, then releases; says that this rank has left when its
///   operations have ended after `leave()`;
/// - `drain(ended)`: returns when all operations and `ended()`, a predicate, have ended, or the
///   rank has failed; it fails when that takes longer than its limit;
/// - `close()`: nobody watches any more. After a failure the news have been told and the
///   transport's own operations stopped. May be called again;
/// - `register_memory(address, bytes)`, `deregister_memory(address)`: what it makes of memory where
///   the ranks do not share it; may do nothing.
///
/// **Laws.** `communicator_shell<peer_transport<B>>` obeys those of `communicator`.
///
/// **Models.** What stands behind `nccl_communicator`.
template <class B>
concept peer_base = transport<B> && requires(B& base,
                                             B const& observed,
                                             typename B::stream_type stream,
                                             collective_tag const& tag,
                                             collective kind,
                                             std::exception_ptr error,
                                             peer_news& news,
                                             void* address,
                                             std::int64_t bytes,
                                             void (*f)(),
                                             bool (*ended)()) {
  { B::words } -> std::convertible_to<peer_words const&>;
  { observed.device() } noexcept -> std::same_as<int>;
  { base.gather(std::int32_t{}, "") } -> std::same_as<std::vector<std::int32_t>>;
  { base.set_up(f) } -> std::same_as<void>;
  { base.operate(stream, tag, kind, f) } -> std::same_as<void>;
  { base.end_group(f) } -> std::same_as<void>;
  { base.begin_watch(stream, tag) } -> std::same_as<void>;
  { base.end_watch(stream) } -> std::same_as<void>;
  { base.fail(std::move(error)) } noexcept -> std::same_as<void>;
  { observed.failed() } noexcept -> std::same_as<bool>;
  { base.listen_to(news) } noexcept -> std::same_as<void>;
  { base.drain(ended) } noexcept -> std::same_as<void>;
  { base.close() } noexcept -> std::same_as<void>;
  { base.register_memory(address, bytes) } -> std::same_as<void>;
  { base.deregister_memory(address) } noexcept -> std::same_as<void>;
};

}  // namespace zero::inline ZERO_ABI
