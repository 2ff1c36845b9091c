// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>
#include <zero/comm/peer/concepts.hpp>
#include <zero/comm/peer/gpu/detail/copies.hpp>
#include <zero/comm/peer/gpu/detail/range.hpp>
#include <zero/comm/peer/gpu/detail/ranks.hpp>
#include <zero/core/dtype.hpp>
#include <zero/core/error.hpp>
#include <zero/core/traffic.hpp>
#include <zero/device/gpu/device_guard.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/device/gpu/stream.hpp>
#include <zero/version.hpp>

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace zero::inline ZERO_ABI {

/// How the ranks of a host share memory.
struct peer_options {
  /// Whether they do at all. The same on all ranks.
  bool shares = false;

  /// Most bytes of a shard whose sum reads the other ranks' contributions where they lie. The same
  /// on all ranks.
  std::int64_t reading_bytes = std::int64_t{64} << 20;
};

/// A transport of which the ranks of one host, a process each, write and read each other's GPU
/// memory by CUDA IPC. Gathers and exchanges into memory that all know are copies by copy engines
/// between two meetings of the streams, sums may read the others' memory, and `Base` moves the
/// rest. A model of `transport`; decision 7 says how it works and what it rests on.
///
/// Without `peer_options::shares`, and in a world of one rank, it is `Base`.
///
/// Cost: two meetings a call or group, some 7 microseconds; page tables of the others' known
/// memory, about 0.2 % of it; 64 KiB or more of /dev/shm.
template <peer_base Base>
class peer_transport {
 public:
  using stream_type = cudaStream_t;

  /// @see transport
  static constexpr char const* name = Base::name;

  /// Makes the base of `args`, and finds the other ranks. Collective.
  /// @throws logic_error the ranks cannot share memory; what the base throws
  template <class... Args>
  explicit peer_transport(peer_options const& options, Args&&... args)
      : options_(options),
        base_(std::forward<Args>(args)...) {
    if (options_.shares && size() > 1) {
      try {
        base_.set_up([this] { join(); });
      } catch (...) {
        close();
        throw;
      }
    }
  }

  peer_transport(peer_transport const&) = delete;
  peer_transport& operator=(peer_transport const&) = delete;

  /// What is decorated.
  [[nodiscard]] Base& base() noexcept { return base_; }

  /// @see communicator
  [[nodiscard]] int rank() const noexcept { return base_.rank(); }

  /// @see communicator
  [[nodiscard]] int size() const noexcept { return base_.size(); }

  /// The rank's device.
  [[nodiscard]] int device() const noexcept { return base_.device(); }

  // --- the collectives ---------------------------------------------------------------------------

  /// @see communicator
  void all_gather(cudaStream_t stream,
                  collective_tag const& tag,
                  void const* send,
                  void* receive,
                  std::int64_t bytes) {
    if (auto const* const range = known(receive, size() * bytes)) {
      copy(stream, tag, collective::all_gather, [&](detail::peer_copies& copies) {
        copies.all_gather(stream, *range, send, receive, bytes);
      });
    } else {
      base_.all_gather(stream, tag, send, receive, bytes);
    }
  }

  /// @see communicator
  void all_to_others(cudaStream_t stream,
                     collective_tag const& tag,
                     void const* send,
                     std::int64_t send_stride_bytes,
                     void* receive,
                     std::int64_t bytes) {
    if (auto const* const range = known(receive, (size() - 1) * bytes)) {
      copy(stream, tag, collective::all_to_others, [&](detail::peer_copies& copies) {
        copies.all_to_others(stream, *range, send, send_stride_bytes, receive, bytes);
      });
    } else {
      base_.all_to_others(stream, tag, send, send_stride_bytes, receive, bytes);
    }
  }

  /// @see communicator
  void reduce_scatter(cudaStream_t stream,
                      collective_tag const& tag,
                      void* buffer,
                      std::int64_t elements,
                      dtype type,
                      double prescale) {
    base_.reduce_scatter(stream, tag, buffer, elements, type, prescale);
  }

  /// @see communicator
  void all_reduce(cudaStream_t stream,
                  collective_tag const& tag,
                  void* buffer,
                  std::int64_t elements,
                  dtype type) {
    base_.all_reduce(stream, tag, buffer, elements, type);
  }

  /// @see communicator
  void broadcast(
      cudaStream_t stream, collective_tag const& tag, void* buffer, std::int64_t bytes, int root) {
    base_.broadcast(stream, tag, buffer, bytes, root);
  }

  /// @see communicator
  void begin_group() { base_.begin_group(); }

  /// @see communicator
  void end_group() {
    base_.end_group([this] {
      if (ranks_ != nullptr) {
        ranks_->copies().close();
      }
    });
  }

  /// @see transport
  [[nodiscard]] bool in_group() const noexcept { return base_.in_group(); }

  // --- sums that read ----------------------------------------------------------------------------

  /// @see peer_communicator
  [[nodiscard]] bool reads_others(void const* shard, std::int64_t bytes) const noexcept {
    return bytes <= options_.reading_bytes && known(shard, bytes) != nullptr;
  }

  /// @see peer_communicator. Beyond 4 MiB the stream waits for the ranks that are late; a smaller
  /// kernel does it itself, which spares 5 microseconds, a third of its time, and so does one that
  /// continues, for which nobody is late.
  template <class Launch>
  void read_others(cudaStream_t stream,
                   collective_tag const& tag,
                   void const* address,
                   std::int64_t bytes,
                   bool continues,
                   Launch&& launch) {
    auto const* const range = known(address, bytes);
    if (range == nullptr) {
      return;  // of a shard for which reads_others this is an empty piece
    }
    base_.operate(stream, tag, collective::all_to_others, [&] {
      if (in_group()) {
        throw logic_error(std::string(name) + ": read_others must not be called inside a group");
      }
      auto& copies = ranks_->copies();
      copies.open_reads(stream, bytes > std::int64_t{4} << 20 && !continues);
      launch(ranks_->reading(*range, address));
      copies.close_reads(stream);
    });
  }

  // --- what is watched besides -------------------------------------------------------------------

  /// @see peer_communicator
  void begin_watch(cudaStream_t stream, collective_tag const& tag) {
    if (ranks_ != nullptr) {
      ranks_->copies().follow(stream);
    }
    base_.begin_watch(stream, tag);
  }

  /// @see peer_communicator
  void end_watch(cudaStream_t stream) {
    if (ranks_ != nullptr) {
      ranks_->copies().mark(stream);
    }
    base_.end_watch(stream);
  }

  // --- memory ------------------------------------------------------------------------------------

  /// @see peer_communicator
  void register_memory(void* address, std::int64_t bytes) {
    if (ranks_ == nullptr) {
      base_.register_memory(address, bytes);
    } else if (bytes > 0) {
      gpu::device_guard const guard(device());
      if (in_group()) {
        throw logic_error(std::string(name) +
                          ": register_memory must not be called inside a group");
      }
      try {
        ranks_->add(address, bytes, [this](auto const& mine) {
          return base_.gather(mine, "register_memory");
        });
      } catch (logic_error const&) {
        meet_refused();
        throw;
      } catch (...) {
        base_.fail(std::current_exception());
        throw;
      }
    }
  }

  /// Whether the ranks are to share memory.
  [[nodiscard]] bool shares() const noexcept { return options_.shares; }

  /// @see peer_communicator
  void deregister_memory(void* address) noexcept {
    if (ranks_ == nullptr) {
      base_.deregister_memory(address);
    } else {
      on_device([&] { ranks_->copies().remove(address); });
    }
  }

  // --- the end -----------------------------------------------------------------------------------

  /// @see communicator
  void abort(std::string const& why) noexcept { base_.abort(why); }

  /// @see communicator
  void leave() noexcept { base_.leave(); }

  /// @see communicator
  void check() { base_.check(); }

  /// Waits for the operations in flight, within the base's limit.
  /// @see transport
  void finish() noexcept {
    base_.drain([this] { return ended_within({}); });
    if (ranks_ != nullptr && !base_.failed()) {
      ranks_->news().leave();
    }
    close();
  }

 private:
  /// Where bytes of this rank lie that all ranks know, or null. All ranks decide alike, since they
  /// know the same ranges.
  [[nodiscard]] detail::peer_range const* known(void const* address,
                                                std::int64_t bytes) const noexcept {
    return ranks_ != nullptr && bytes > 0 ? ranks_->copies().range_of(address, bytes) : nullptr;
  }

  /// Moves bytes by copies among the ranks.
  template <class F>
  void copy(cudaStream_t stream, collective_tag const& tag, collective kind, F&& f) {
    base_.operate(stream, tag, kind, [&] {
      f(ranks_->copies());
      if (!in_group()) {
        ranks_->copies().close();
      }
    });
  }

  /// Finds the ranks of the host, and meets them once, so that what the driver does not have is
  /// found now.
  void join() {
    gpu::device_guard const guard(device());
    ranks_ =
        std::make_unique<detail::peer_ranks>(Base::words, rank(), size(), [this](auto const& mine) {
          return base_.gather(mine, "first meeting");
        });
    base_.listen_to(ranks_->news());
    gpu::stream const stream(gpu::stream_priority::normal);
    collective_tag const tag{.operation_name = "first meeting"};
    copy(stream.get(), tag, collective::all_gather, [&](detail::peer_copies& copies) {
      copies.open(stream.get());
    });
    base_.drain([this] { return ended_within({}); });
    base_.check();
  }

  /// Returns when all ranks have come to a refusal, which they make alike; so what each throws is
  /// its own, and not that another one has ended.
  void meet_refused() noexcept {
    try {
      static_cast<void>(base_.gather(std::int32_t{0}, "refusal"));
    } catch (...) {  // nothing is worth more than the refusal
    }
  }

  /// Calls `f()` with this rank's device current, if there still is one.
  template <class F>
  void on_device(F&& f) noexcept {
    try {
      gpu::device_guard const guard(device());
      f();
    } catch (cuda_error const&) {  // the runtime is going; so is everything that f would end
    }
  }

  /// Whether the copies and the kernels that read have ended by now, or within a time. A device
  /// that is lost makes the rank fail.
  [[nodiscard]] bool ended_within(std::chrono::nanoseconds limit) noexcept {
    try {
      return ranks_ == nullptr || ranks_->copies().ended_within(limit);
    } catch (cuda_error const&) {
      base_.fail(std::current_exception());
      return false;
    }
  }

  /// Lets go of the other ranks. After a failure that they have been told, waits until what was
  /// enqueued has ended, for which it waits no more for other ranks. Should that take long, e.g.
  /// behind kernels of the user's, the mappings of the others' memory and of the board stay for as
  /// long as the process lives.
  void close() noexcept {
    base_.close();
    if (base_.failed() && !ended_within(std::chrono::seconds(10))) {
      [[maybe_unused]] detail::peer_ranks const* const kept = ranks_.release();
    }
    on_device([this] { ranks_.reset(); });
  }

  peer_options options_;
  Base base_;
  std::unique_ptr<detail::peer_ranks> ranks_;
};

}  // namespace zero::inline ZERO_ABI
