// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>
#include <zero/comm/detail/deadline.hpp>
#include <zero/comm/nccl/detail/calls.hpp>
#include <zero/comm/nccl/detail/handle.hpp>
#include <zero/comm/nccl/detail/own_calls.hpp>
#include <zero/comm/nccl/detail/peers.hpp>
#include <zero/comm/nccl/detail/registry.hpp>
#include <zero/comm/nccl/detail/watchdog.hpp>
#include <zero/comm/nccl_error.hpp>
#include <zero/comm/nccl_options.hpp>
#include <zero/core/error.hpp>
#include <zero/core/traffic.hpp>
#include <zero/device/gpu/device_guard.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/device/gpu/stream.hpp>
#include <zero/version.hpp>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// What stands behind a `nccl_communicator` at an address that does not change: the handle, the
/// thread that watches it, and what all collectives have in common.
class nccl_link {
 public:
  nccl_link(ncclComm_t comm, bool owned, nccl_options const& settings)
      : options(settings),
        handle(comm, owned),
        registry_(settings.registration),
        watchdog(std::make_unique<nccl_watchdog>(handle, settings)) {
    try {
      compare_options();
      own_calls().warm_up(options.warm_up_bytes);
      if (options.registration == nccl_registration::peers && handle.size() > 1) {
        join_peers();
      }
    } catch (std::exception const& error) {
      if (dynamic_cast<logic_error const*>(&error) != nullptr) {
        meet_refused();
      }
      abort(error.what());
      watchdog.reset();
      let_go();
      on_device([this] { peers_.reset(); });
      throw;
    }
  }

  /// What a collective is, for the counters and the watchdog.
  struct call {
    collective kind;
    std::int64_t bytes;
    bool is_root = true;
  };

  /// Runs one collective: `f(comm)` makes the calls of NCCL and returns the last one's result.
  template <class F>
  void run(
      cudaStream_t stream, collective_tag const& tag, call const& what, char const* name, F&& f) {
    gpu::device_guard const guard(handle.device());
    bool const grouped = handle.in_group();
    handle.inside([&](ncclComm_t comm) {
      expects(!left, "zero::Nccl: this communicator has left; it takes no more calls");
      counters.add(what.kind, what.bytes, handle.size(), what.is_root);
      step_.store(tag.step, std::memory_order_relaxed);
      if (what.bytes == 0) {
        return;
      }
      if (!grouped || !group_marked_) {
        watchdog->begin(stream, tag, what.kind);
        group_marked_ = grouped;
        group_stream_ = stream;
      }
      handle.settle(f(comm), name);
      if (!grouped) {
        close_copies();
        watchdog->end(stream);
      }
    });
  }

  /// Moves bytes by copies among the ranks of the host, if all of `receive` is memory that they
  /// know; otherwise as `f(comm)` says. All ranks decide alike, since they know the same ranges.
  template <class Copies, class F>
  ncclResult_t move(
      ncclComm_t comm, void const* receive, std::int64_t bytes, Copies&& by_copies, F&& f) {
    auto const* const range = known(receive, bytes);
    if (range == nullptr) {
      return f(comm);
    }
    by_copies(peers_->copies(), *range);
    return ncclSuccess;
  }

  /// Where bytes of this rank lie that all ranks know, or null.
  [[nodiscard]] peer_range const* known(void const* address, std::int64_t bytes) const noexcept {
    return peers_ != nullptr ? peers_->copies().range_of(address, bytes) : nullptr;
  }

  /// Has `launch(peer_reading)` put a kernel into a stream that reads `bytes` of each other rank,
  /// which lie where this rank has them at `address`. Beyond 4 MiB the stream waits for the ranks
  /// that are late; a smaller kernel does it itself, which spares 5 microseconds, a third of its
  /// time, and so does one that continues, for which nobody is late.
  /// @pre all ranks know the bytes
  template <class Launch>
  void read(cudaStream_t stream,
            void const* address,
            std::int64_t bytes,
            bool continues,
            Launch&& launch) {
    expects(!handle.in_group(), "zero::Nccl: read_others must not be called inside a group");
    peers_->copies().open_reads(stream, bytes > std::int64_t{4} << 20 && !continues);
    launch(peers_->reading(*known(address, bytes), address));
    peers_->copies().close_reads(stream);
  }

  /// Throws the failure of this rank, or of another one that has said so.
  void check() {
    if (watchdog->has_news()) {
      watchdog->wake();  // it knows where this rank is
      deadline const soon(std::chrono::seconds(1));
      while (!handle.failed() && !soon.passed()) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
      watchdog->listen(step_.load(std::memory_order_relaxed), "", "check");
    }
    handle.check();
  }

  void leave() noexcept {
    left = true;
    watchdog->leave();
  }

  /// See `nccl_communicator::begin_watch`.
  void begin_watch(cudaStream_t stream, collective_tag const& tag) {
    if (peers_ != nullptr) {
      peers_->copies().follow(stream);
    }
    watchdog->begin(stream, tag, collective::all_gather, true);
  }

  /// See `nccl_communicator::end_watch`.
  void end_watch(cudaStream_t stream) {
    if (peers_ != nullptr) {
      peers_->copies().mark(stream);
    }
    watchdog->end(stream);
  }

  void begin_group() { handle.begin_group(); }

  void end_group() {
    gpu::device_guard const guard(handle.device());
    if (handle.end_group() && std::exchange(group_marked_, false)) {
      handle.inside([this](ncclComm_t) {
        close_copies();
        watchdog->end(group_stream_);
      });
    }
  }

  void abort(std::string why) noexcept {
    try {
      throw peer_error("rank " + std::to_string(handle.rank()) + " has failed: " + why,
                       handle.rank(),
                       0,
                       "",
                       "abort");
    } catch (...) {
      handle.fail(std::current_exception(), handle.rank(), std::move(why));
    }
    watchdog->wake();
  }

  void remember(void* address, std::int64_t bytes) {
    if (peers_ != nullptr && bytes > 0) {
      gpu::device_guard const guard(handle.device());
      expects(!handle.in_group(), "zero::Nccl: register_memory must not be called inside a group");
      try {
        peers_->add(address, bytes, [this](auto const& mine) {
          return own_calls().gather(mine, "register_memory");
        });
      } catch (logic_error const&) {
        meet_refused();
        throw;
      } catch (...) {
        handle.fail(std::current_exception());
        watchdog->wake();
        throw;
      }
    } else if (registry_.kind() != nccl_registration::none && bytes > 0) {
      gpu::device_guard const guard(handle.device());
      handle.inside([&](ncclComm_t comm) {
        registry_.add(comm, address, bytes);
        // Registration settles at once on communicators that block; the others are asked.
        ncclResult_t state = ncclSuccess;
        check_nccl(ncclCommGetAsyncError(comm, &state), "ncclCommGetAsyncError", comm);
        handle.settle(state, "ncclCommRegister");
      });
    }
  }

  void forget(void* address) noexcept {
    if (peers_ != nullptr) {
      on_device([&] { peers_->copies().remove(address); });
    } else if (!handle.failed()) {
      registry_.remove(handle.get(), address);
    }
  }

  /// Ends what the destructor must not end in silence: waits for the operations in flight. The
  /// watchdog ends the wait when one of them takes too long.
  void finish() noexcept {
    std::optional<deadline> until;  // for what nobody watches
    while (!handle.failed()) {
      bool const idle = watchdog->idle();
      if (idle && copies_ended()) {
        break;
      }
      if (idle && !until.has_value()) {
        until.emplace(options.limit);
      }
      if (idle && until->passed()) {
        abort("its last operations have not ended");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (!handle.failed() && peers_ != nullptr) {
      peers_->board().leave();
    }
    watchdog.reset();
    if (handle.failed()) {
      let_go();
    } else {
      registry_.clear(handle.get());
    }
    on_device([this] { peers_.reset(); });
  }

 private:
  /// Calls `f()` with this rank's device current, if there still is one.
  template <class F>
  void on_device(F&& f) noexcept {
    try {
      gpu::device_guard const guard(handle.device());
      f();
    } catch (cuda_error const&) {  // the runtime is going; so is everything that f would end
    }
  }

  /// Whether the copies and the kernels that read have ended by now, or within a time. A device
  /// that is lost makes the rank fail.
  [[nodiscard]] bool copies_ended(std::chrono::nanoseconds limit = {}) noexcept {
    try {
      return peers_ == nullptr || peers_->copies().ended_within(limit);
    } catch (cuda_error const&) {
      handle.fail(std::current_exception());
      return false;
    }
  }

  /// After a failure: tells the ranks of the host, stops NCCL, and waits until what was enqueued
  /// has ended, for which it waits no more for other ranks. Should that take long, e.g. behind
  /// kernels of the user's, the mappings of the others' memory and of the board stay for as long as
  /// the process lives.
  void let_go() noexcept {
    if (peers_ != nullptr) {
      handle.give_up(peers_->board());
    }
    handle.stop();
    if (!copies_ended(std::chrono::seconds(10))) {
      [[maybe_unused]] nccl_peers const* const kept = peers_.release();
    }
  }

  /// Ends the copies of a collective, or of a group.
  void close_copies() {
    if (peers_ != nullptr) {
      peers_->copies().close();
    }
  }

  [[nodiscard]] nccl_own_calls own_calls() { return {handle, *watchdog, sums}; }

  /// Returns when all ranks have come to a refusal, which they make alike; so what each throws is
  /// its own, and not that another one has ended.
  void meet_refused() noexcept {
    try {
      gpu::device_guard const guard(handle.device());
      static_cast<void>(own_calls().gather(std::int32_t{0}, "refusal"));
    } catch (...) {  // nothing is worth more than the refusal
    }
  }

  /// Refuses options that differ between the ranks and would make them call different things.
  void compare_options() {
    if (handle.size() == 1) {
      return;
    }

    struct shared {
      std::int64_t registration;
      std::int64_t peer_reading_bytes;
      std::int64_t warm_up_bytes;
    };

    gpu::device_guard const guard(handle.device());
    auto const all = own_calls().gather(shared{.registration = std::int64_t(options.registration),
                                               .peer_reading_bytes = options.peer_reading_bytes,
                                               .warm_up_bytes = options.warm_up_bytes},
                                        "comparison of options");
    auto const same = [&](std::int64_t shared::* field, char const* name) {
      if (std::ranges::any_of(all, [&](auto const& o) { return o.*field != all[0].*field; })) {
        throw logic_error(std::string("zero::Nccl: nccl_options::") + name +
                          " differs between the ranks; give all the same");
      }
    };
    same(&shared::registration, "registration");
    same(&shared::peer_reading_bytes, "peer_reading_bytes");
    same(&shared::warm_up_bytes, "warm_up_bytes");
  }

  /// Finds the ranks of the host, and meets them once, so that what the driver does not have is
  /// found now.
  void join_peers() {
    gpu::device_guard const guard(handle.device());
    nccl_own_calls own = own_calls();
    peers_ = std::make_unique<nccl_peers>(handle.rank(), handle.size(), [&](auto const& mine) {
      return own.gather(mine, "first meeting");
    });
    watchdog->tell_on(peers_->board());
    gpu::stream const stream(gpu::stream_priority::normal);
    watchdog->begin(stream.get(), {.operation_name = "first meeting"}, collective::all_gather);
    peers_->copies().open(stream.get());
    peers_->copies().close();
    watchdog->end(stream.get());
    while (!watchdog->idle()) {
      handle.check();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    handle.check();
  }

 public:
  nccl_options options;
  nccl_handle handle;
  nccl_sums sums;
  traffic_counters counters;
  bool left = false;

 private:
  nccl_registry registry_;
  cudaStream_t group_stream_ = nullptr;
  bool group_marked_ = false;
  std::atomic<std::int64_t> step_{0};  // of the last call
  std::unique_ptr<nccl_peers> peers_;

 public:
  std::unique_ptr<nccl_watchdog> watchdog;
};

}  // namespace zero::inline ZERO_ABI::detail
