// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/queue.hpp>
#include <zero/plan/operation.hpp>
#include <zero/version.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace zero::inline ZERO_ABI {

/// Numbers the resources of a plan: one index for each (resource, queue) pair names an event.
struct resource_index {
  std::int32_t units = 0;            ///< of the plan
  std::int32_t parameter_slots = 0;  ///< of the plan
  std::int32_t gradient_slots = 0;   ///< of the plan

  /// Resources of the plan.
  [[nodiscard]] constexpr std::int32_t resources() const {
    return 4 * units + parameter_slots + gradient_slots + 4;
  }

  /// Events of the plan: one for each resource and queue.
  [[nodiscard]] constexpr std::int32_t events() const { return resources() * queue_count; }

  /// Index of what an operation accesses, 0 to resources() - 1.
  [[nodiscard]] constexpr std::int32_t of(access const& a) const {
    switch (a.resource) {
      case resource_kind::parameters:
        return a.index;
      case resource_kind::accumulators:
        return units + a.index;
      case resource_kind::others_accumulators:
        return 2 * units + a.index;
      case resource_kind::optimizer_state:
        return 3 * units + a.index;
      case resource_kind::parameter_slot:
        return 4 * units + a.index;
      case resource_kind::gradient_slot:
        return 4 * units + parameter_slots + a.index;
      case resource_kind::receive:
        return 4 * units + parameter_slots + gradient_slots + a.index;
      case resource_kind::partials:
        return 4 * units + parameter_slots + gradient_slots + 2;
      case resource_kind::scalars:
        return 4 * units + parameter_slots + gradient_slots + 3;
    }
    return 0;
  }
};

/// Derives waits and records from the accesses of operations, in issue order, and drops waits that
/// earlier waits imply. The executor asks it before and after each operation; the race checker
/// replays with the same object. Host bookkeeping only: a vector clock a queue, and for each
/// resource and queue the clock of its latest record. A wait takes the latest record at the time of
/// the wait, which is CUDA's rule for events and lets waits cross segments.
class wait_tracker {
 public:
  using clock =
      std::array<std::int64_t, queue_count>;  ///< operations of each queue that have ended

  /// Begins with nothing recorded.
  constexpr explicit wait_tracker(resource_index index)
      : index_(index),
        records_(static_cast<std::size_t>(index.events()), record{}) {}

  /// The numbering of resources and events.
  [[nodiscard]] constexpr resource_index const& index() const { return index_; }

  /// Calls `wait(access, source, event)` for each wait that operation `op` on queue `q` needs and
  /// that neither earlier waits nor the operation's other waits imply; the wait is taken as done
  /// unless the call returns false (a mutant drops it).
  template <class Wait>
  constexpr void before(operation const& op, queue q, Wait&& wait) {
    if (op.kind == operation_kind::release) {
      return;  // a release only signals: its visit has waited in acquire
    }
    auto& now = now_[static_cast<std::size_t>(q)];
    std::array<candidate, access_list::max_accesses*(queue_count - 1)> needed{};
    std::size_t count = 0;
    for (auto const& a : accesses_of(op)) {
      for (int s = 0; s < queue_count; ++s) {
        auto const event = index_.of(a) * queue_count + s;
        auto const& r = records_[static_cast<std::size_t>(event)];
        auto const tick = a.write ? r.any : r.write;
        if (s != static_cast<int>(q) && tick > now[static_cast<std::size_t>(s)]) {
          needed[count++] = {a, s, event, tick, false};
        }
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < count && !needed[i].implied; ++j) {
        auto const& by = records_[static_cast<std::size_t>(needed[j].event)].at;
        needed[i].implied = i != j && !needed[j].implied &&
                            by[static_cast<std::size_t>(needed[i].source)] >= needed[i].tick;
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      auto const& n = needed[i];
      if (!n.implied && wait(n.what, static_cast<queue>(n.source), n.event)) {
        auto const& at = records_[static_cast<std::size_t>(n.event)].at;
        for (std::size_t k = 0; k < queue_count; ++k) {
          now[k] = std::max(now[k], at[k]);
        }
      }
    }
  }

  /// Counts operation `op` on queue `q` and calls `record(event)` for each event that it signals.
  template <class Record>
  constexpr void after(operation const& op, queue q, Record&& record_event) {
    auto& now = now_[static_cast<std::size_t>(q)];
    auto const tick = ++now[static_cast<std::size_t>(q)];
    if (op.kind == operation_kind::acquire) {
      return;  // the visit is still to come; its release signals
    }
    for (auto const& a : accesses_of(op)) {
      auto const event = index_.of(a) * queue_count + static_cast<int>(q);
      auto& r = records_[static_cast<std::size_t>(event)];
      r.any = tick;
      r.write = a.write ? tick : r.write;
      r.at = now;
      record_event(event);
    }
  }

  /// All queues have waited for each other (the ends of a capture, a drained engine).
  constexpr void join() {
    clock all{};
    for (auto const& now : now_) {
      for (std::size_t i = 0; i < queue_count; ++i) {
        all[i] = std::max(all[i], now[i]);
      }
    }
    now_.fill(all);
  }

  /// The vector clock of a queue.
  [[nodiscard]] constexpr clock const& at(queue q) const {
    return now_[static_cast<std::size_t>(q)];
  }

 private:
  struct record {
    std::int64_t write = 0;  ///< tick of the latest recorded write
    std::int64_t any = 0;    ///< tick of the latest record
    clock at{};              ///< what the queue knew at the latest record
  };

  struct candidate {
    access what{};
    int source = 0;
    std::int32_t event = 0;
    std::int64_t tick = 0;
    bool implied = false;
  };

  resource_index index_;
  std::vector<record> records_;
  std::array<clock, queue_count> now_{};
};

}  // namespace zero::inline ZERO_ABI
