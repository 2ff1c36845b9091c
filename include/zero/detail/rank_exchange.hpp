// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>
#include <zero/core/dtype.hpp>
#include <zero/core/error.hpp>
#include <zero/core/queue.hpp>
#include <zero/device/transfer.hpp>
#include <zero/plan/control.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// Small exchanges between the ranks outside the plan, through the window of the control pool. All
/// are collective and wait.
/// @tparam Core  device, communicator, window, tags, and waiting; see `engine_core`
template <class Core>
class rank_exchange {
 public:
  using stream = typename Core::stream;

  rank_exchange(Core& core, int world)
      : core_(&core),
        gathered_(static_cast<std::size_t>(world)) {}

  /// Gathers `bytes` of each rank on every rank, in rank order.
  /// @throws logic_error for more than the window holds
  void gather_bytes(void const* mine, std::int64_t bytes, void* all, char const* what) {
    auto const world = std::int64_t{core_->communicator().size()};
    precondition(bytes * world <= full_window_bytes, "zero::ZeroEngine: too many bytes a rank");
    core_->drain();
    auto* const window = core_->window();
    auto* const own = window + core_->communicator().rank() * bytes;
    upload(core_->device(), own, mine, bytes);
    if (world > 1) {
      enqueue(what, [own, window, bytes](auto& communicator, stream s, auto const& tag) {
        communicator.all_gather(s, tag, own, window, bytes);
      });
    }
    // What has arrived counts, even if another rank has failed since, unless that may have cut the
    // exchange short: ranks that compare their plans all come to the same sentence.
    core_->settle();
    download(core_->device(), all, window, bytes * world);
  }

  /// A value of each rank. Allocates.
  template <class T>
  [[nodiscard]] std::vector<T> gather(T const& mine, char const* what) {
    std::vector<T> all(gathered_.size());
    gather_bytes(&mine, sizeof mine, all.data(), what);
    return all;
  }

  /// Mean of a number over the ranks, added in rank order.
  [[nodiscard]] double mean(double value) {
    gather_bytes(&value, sizeof value, gathered_.data(), "mean");
    double sum = 0;
    for (auto const v : gathered_) {
      sum += v;
    }
    return sum / static_cast<double>(gathered_.size());
  }

  /// Runs each kind of collective that an engine makes once, small, on what it will run them, and
  /// ends with a barrier: whatever a transport sets up at a first use is there when this returns.
  /// @tparam Parameter  type of most parameters
  /// @param native      gradients are reduced by the communicator's own reduce-scatter
  /// @param prescale    with which that multiplies
  template <class Parameter>
  void warm_up(bool native, double prescale) {
    if (gathered_.size() == 1) {
      return;
    }
    static constexpr char const* what = "warm-up";
    static constexpr std::int64_t bytes = 64;
    auto* const window = core_->window();
    enqueue(what, [window](auto& communicator, stream s, auto const& tag) {
      communicator.broadcast(s, tag, window, bytes, 0);
    });
    if (!native) {
      auto* const other = window + full_window_bytes / 2;
      enqueue(what, [window, other](auto& communicator, stream s, auto const& tag) {
        communicator.all_to_others(s, tag, window, bytes, other, bytes);
      });
    } else {
      for (auto const type : {dtype_of<Parameter>, dtype::fp32}) {
        enqueue(what, [window, type, prescale](auto& communicator, stream s, auto const& tag) {
          communicator.reduce_scatter(s, tag, window, bytes / bytes_of(type), type, prescale);
        });
      }
    }
    // an all-gather: nobody leaves it before all came
    static_cast<void>(gather(std::int64_t{}, what));
  }

 private:
  /// Puts `call(communicator, stream, tag)` into the communication queue.
  template <class Call>
  void enqueue(char const* what, Call call) {
    collective_tag const tag = core_->outside_tag(what);
    auto* const communicator = &core_->communicator();
    core_->device().enqueue(queue::comm,
                            [communicator, tag, call](stream s) { call(*communicator, s, tag); });
  }

  Core* core_;
  std::vector<double> gathered_;
};

}  // namespace zero::inline ZERO_ABI::detail
