// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/queue.hpp>
#include <zero/plan/operation.hpp>
#include <zero/plan/plan.hpp>
#include <zero/plan/wait_tracker.hpp>
#include <zero/version.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace zero::inline ZERO_ABI {

/// One family of waits, for mutation tests: the waits of queue `waiter` for queue `source` because
/// of a resource of kind `resource`.
struct wait_family {
  resource_kind resource = resource_kind::parameters;  ///< what the waits are about
  queue waiter = queue::compute;                       ///< that waits
  queue source = queue::comm;                          ///< that is waited for
  friend constexpr bool operator==(wait_family const&, wait_family const&) = default;
};

/// What a replay found.
struct race_report {
  std::int64_t races = 0;    ///< conflicting accesses that no chain of waits orders
  std::int64_t waits = 0;    ///< waits issued
  std::int64_t dropped = 0;  ///< waits of the dropped family that would have been issued
};

/// Replays sequences of segments and finds conflicting accesses of different queues that no chain
/// of waits orders. It keeps its own clocks, which follow only the waits that were really issued,
/// so it judges the wait tracker instead of repeating it.
class race_checker {
 public:
  /// Checks segments of `plan`, which must outlive this. No segment has run yet.
  constexpr explicit race_checker(execution_plan const& plan)
      : plan_(&plan),
        tracker_(index_for(plan)),
        events_(static_cast<std::size_t>(tracker_.index().events()), clock{}),
        history_(static_cast<std::size_t>(tracker_.index().resources()), access_history{}) {}

  /// Replays with the waits of one family left out, as the executor would run without them.
  constexpr void drop(wait_family family) {
    family_ = family;
    dropping_ = true;
  }

  /// Replays a segment: a pass or the step.
  constexpr void run(segment const& s) {
    for (auto const& op : s.operations) {
      run(op);
    }
  }

  /// All queues wait for each other, as at the ends of a captured graph.
  constexpr void join() {
    tracker_.join();
    clock all{};
    for (auto const& now : now_) {
      merge(all, now);
    }
    now_.fill(all);
  }

  /// What was found so far.
  [[nodiscard]] constexpr race_report const& report() const { return report_; }

  /// The numbering of a plan's resources.
  [[nodiscard]] static constexpr resource_index index_for(execution_plan const& plan) {
    return {static_cast<std::int32_t>(plan.layout.units.size()),
            static_cast<std::int32_t>(plan.slots.parameters.slot_bytes.size()),
            static_cast<std::int32_t>(plan.slots.gradients.slot_bytes.size())};
  }

 private:
  using clock = wait_tracker::clock;

  struct access_history {
    clock read{};
    clock write{};
  };

  static constexpr void merge(clock& into, clock const& from) {
    for (std::size_t i = 0; i < queue_count; ++i) {
      into[i] = std::max(into[i], from[i]);
    }
  }

  constexpr void run(operation const& op) {
    auto const q = queue_of(op.kind, plan_->config.world);
    auto const qi = static_cast<std::size_t>(q);
    tracker_.before(op, q, [&](access const& a, queue source, std::int32_t event) {
      if (dropping_ && wait_family{a.resource, q, source} == family_) {
        ++report_.dropped;
        return false;
      }
      ++report_.waits;
      merge(now_[qi], events_[static_cast<std::size_t>(event)]);
      return true;
    });
    ++now_[qi][qi];
    for (auto const& a : accesses_of(op)) {
      auto& h = history_[static_cast<std::size_t>(tracker_.index().of(a))];
      for (std::size_t other = 0; other < queue_count; ++other) {
        if (other != qi) {
          report_.races += h.write[other] > now_[qi][other] ? 1 : 0;
          report_.races += a.write && h.read[other] > now_[qi][other] ? 1 : 0;
        }
      }
      (a.write ? h.write : h.read)[qi] = now_[qi][qi];
    }
    tracker_.after(
        op, q, [&](std::int32_t event) { events_[static_cast<std::size_t>(event)] = now_[qi]; });
  }

  execution_plan const* plan_;
  wait_tracker tracker_;
  std::vector<clock> events_;
  std::vector<access_history> history_;
  std::array<clock, queue_count> now_{};
  wait_family family_{};
  bool dropping_ = false;
  race_report report_{};
};

}  // namespace zero::inline ZERO_ABI
