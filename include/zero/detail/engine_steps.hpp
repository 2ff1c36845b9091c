// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/abilities.hpp>
#include <zero/core/error.hpp>
#include <zero/detail/captured_steps.hpp>
#include <zero/detail/engine_passes.hpp>
#include <zero/detail/engine_types.hpp>
#include <zero/optim/loss_scale.hpp>
#include <zero/optim/step_control.hpp>
#include <zero/optim/step_progress.hpp>
#include <zero/optim/step_state.hpp>
#include <zero/options.hpp>
#include <zero/plan/pools.hpp>
#include <zero/plan/transfers.hpp>
#include <zero/version.hpp>

#include <cstdint>
#include <utility>

namespace zero::inline ZERO_ABI::detail {

/// Steps: their numbers, what became of them, captures of them, and the optimizer's state that is
/// one for all elements.
template <class Types>
class engine_steps : public engine_passes<Types> {
 public:
  using typename engine_passes<Types>::communicator_type;

  template <class... Arguments>
  explicit engine_steps(bool loss_scaling, Arguments&&... arguments)
      : engine_passes<Types>(std::forward<Arguments>(arguments)...),
        captures_(this->device_,
                  this->executor_,
                  this->communicator_,
                  this->ledger_,
                  this->step_memory_.control()),
        loss_scaling_(loss_scaling) {}

  void step(step_options const& step, std::int64_t micro_steps) {
    this->executor_.check();
    if (this->executor_.in_pass()) {
      this->executor_.fail_misuse("step was called inside a pass; end the pass first");
    }
    if (micro_steps == 0) {
      this->executor_.fail_misuse(
          "step was called before any micro-step; loop over engine.micro_steps(k) first");
    }
    this->executor_.step(this->ledger_.issue(), control_of(step, micro_steps));
  }

  /// The numbers of a step as the device reads them.
  [[nodiscard]] step_control control_of(step_options const& step, std::int64_t micro_steps) const {
    step_control control;
    control.lr = step.lr.value_or(this->options_.optimizer.lr);
    control.gradient_scale = step.gradient_scale;
    control.device_gradient_scale = step.device_gradient_scale;
    control.clip_norm = this->options_.clip_norm;
    control.mean = mean_factor(micro_steps);
    return control;
  }

  // --- capture

  /// Captures what `issue` puts into the queues, on devices that can.
  /// @return the device's graph
  template <class Issue>
  [[nodiscard]] auto capture(Issue&& issue) {
    this->executor_.check();
    if (this->executor_.in_pass()) {
      this->executor_.fail_misuse("capture was called inside a pass; end the pass first");
    }
    this->expect_no_capture("capture was called");
    return captures_.capture(issue,
                             [this] { this->abandon("an exception passed through capture"); });
  }

  /// Where the latest capture writes its step's result.
  [[nodiscard]] std::int64_t captured_slot() const { return captures_.slot(); }

  /// Runs a captured step once more, with new numbers; its result goes to `slot`.
  template <class Graph>
  void replay(Graph const& graph,
              std::int64_t slot,
              step_options const& step,
              std::int64_t micro_steps) {
    this->executor_.check();
    if (this->executor_.in_pass()) {
      this->executor_.fail_misuse("replay was called inside a pass; end the pass first");
    }
    this->expect_no_capture("replay was called");
    captures_.replay(graph, slot, control_of(step, micro_steps));
  }

  /// The record of the latest step; waits for it.
  [[nodiscard]] step_record result() {
    precondition(this->ledger_.issued() > first_step_,
                 "zero::ZeroEngine: result() was called before any step; call step first");
    this->drain();
    auto const record = this->step_memory_.record(this->ledger_.slot());
    if (record.at_floor && this->options_.loss_scale.at_floor == at_floor::raise) {
      throw numeric_error(this->executor_.sentence(
          "an overflow wants a loss scale below its minimum; raise the minimum "
          "or lower the learning "
          "rate."));
    }
    return record;
  }

  /// The latest step that this rank has behind it; see the engine.
  [[nodiscard]] std::int64_t completed_steps() noexcept {
    if (this->executor_.capturing()) {
      return this->ledger_.seen();
    }
    this->device_.finish();
    if (!this->failed()) {
      this->ledger_.see(this->executor_.completed());
      return this->ledger_.seen();
    }
    return !watching_communicator<communicator_type> && this->step_memory_.answers()
               ? this->executor_.completed()
               : this->ledger_.seen();
  }

  /// How far the training has come. Waits.
  [[nodiscard]] step_progress progress() {
    this->drain();
    return this->step_memory_.progress();
  }

  /// Goes on from a progress. Waits.
  void set_progress(step_progress const& progress) {
    this->drain();
    this->step_memory_.set_progress(progress);
    restart(progress.steps);
  }

  [[nodiscard]] float const* loss_scale() const { return &this->control().state()->loss_scale; }

  /// The whole parameters are as the masters say, on every rank.
  void parameters_written() { this->executor_.published(); }

  /// Resets moments and step state to those before the first step.
  void reset_optimizer() {
    this->drain();
    this->fill_now(pool::optimizer, 0);
    reset_state();
  }

 protected:
  void reset_state() {
    this->step_memory_.reset(this->options_, loss_scaling_, this->plan_.groups.groups);
    restart(0);
  }

  void restart(std::int64_t steps) {
    this->ledger_.restart(steps);
    this->executor_.restarted(steps);
    first_step_ = steps;
  }

  [[nodiscard]] bool loss_scaling() const { return loss_scaling_; }

 private:
  /// What makes the mean, or the sum, of what the accumulators hold.
  [[nodiscard]] double mean_factor(std::int64_t micro_steps) const {
    auto const kept = kept_divisor(this->plan_.config);
    auto const all =
        static_cast<double>(this->plan_.config.world) * static_cast<double>(micro_steps);
    return this->options_.mean ? kept / all : kept;
  }

  captured_steps<Types> captures_;
  bool loss_scaling_;
  std::int64_t first_step_ = 0;  // made before this engine's own
};

}  // namespace zero::inline ZERO_ABI::detail
