// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/abilities.hpp>
#include <zero/comm/concepts.hpp>
#include <zero/core/queue.hpp>
#include <zero/detail/control_block.hpp>
#include <zero/detail/engine_types.hpp>
#include <zero/detail/step_ledger.hpp>
#include <zero/optim/step_control.hpp>
#include <zero/version.hpp>

#include <cstdint>

namespace zero::inline ZERO_ABI::detail {

/// Captures steps as graphs of the device, and replays them. Where the device has none, nothing of
/// this is instantiated.
template <class Types>
class captured_steps {
 public:
  using device_type = typename Types::device;
  using communicator_type = typename Types::communicator;
  using runner = typename Types::runner;
  using stream = typename device_type::stream_type;
  using control_type = control_block<typename Types::optimizer>;

  /// All of these must outlive this.
  captured_steps(device_type& device,
                 runner& executor,
                 communicator_type& communicator,
                 step_ledger& ledger,
                 control_type const& control)
      : device_(&device),
        executor_(&executor),
        communicator_(&communicator),
        ledger_(&ledger),
        control_(control) {}

  /// Captures what `issue` puts into the queues: exactly one step. Steps are counted as before.
  /// @param abandon  called before an exception of `issue` passes
  template <class Issue, class Abandon>
  [[nodiscard]] auto capture(Issue& issue, Abandon&& abandon) {
    auto const before = *ledger_;
    executor_->begin_capture();
    device_->begin_capture();
    auto const give_up = [this] {
      device_->abandon_capture();
      executor_->end_capture();
    };
    try {
      issue();
    } catch (...) {
      give_up();
      abandon();
      throw;
    }
    if (executor_->in_pass() || ledger_->issued() != before.issued() + 1) {
      give_up();
      executor_->fail_misuse(
          "a capture holds exactly one step, with its micro-steps or alone; call step once, last");
    }
    auto graph = device_->end_capture();
    executor_->end_capture();
    slot_ = ledger_->slot();
    *ledger_ = before;
    executor_->check();
    return graph;
  }

  /// Where the latest capture writes its step's result.
  [[nodiscard]] std::int64_t slot() const { return slot_; }

  /// Runs a captured step once more, with new numbers; its result goes to `slot`.
  template <class Graph>
  void replay(Graph const& graph, std::int64_t slot, step_control const& control) {
    device_->enqueue(queue::compute, [to = control_.control(), control](stream s) {
      device_type::kernels::set_control(s, to, control);
    });
    watch(true);
    device_->launch(graph);
    watch(false);
    executor_->replayed(ledger_->issue_to(slot));
  }

 private:
  /// Has a communicator that watches its operations watch those of a graph.
  void watch(bool begins) {
    if constexpr (watching_communicator<communicator_type>) {
      collective_tag const tag{.step = ledger_->issued() + 1, .operation_name = "replay"};
      device_->enqueue(queue::compute, [communicator = communicator_, begins, tag](stream s) {
        if (begins) {
          communicator->begin_watch(s, tag);
        } else {
          communicator->end_watch(s);
        }
      });
    }
  }

  device_type* device_;
  runner* executor_;
  communicator_type* communicator_;
  step_ledger* ledger_;
  control_type control_;
  std::int64_t slot_ = 0;
};

}  // namespace zero::inline ZERO_ABI::detail
