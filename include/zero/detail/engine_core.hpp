// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>
#include <zero/core/queue.hpp>
#include <zero/detail/engine_steps.hpp>
#include <zero/detail/plan_comparison.hpp>
#include <zero/detail/registered_pools.hpp>
#include <zero/detail/step_digest.hpp>
#include <zero/detail/tensor_binding.hpp>
#include <zero/options.hpp>
#include <zero/plan/digest.hpp>
#include <zero/plan/plan.hpp>
#include <zero/plan/pools.hpp>
#include <zero/plan/transfers.hpp>
#include <zero/trace/recorder.hpp>
#include <zero/trace/timeline.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// What an engine does, without the type of the user's container: memory, schedule, leases by unit
/// number, steps and results. Every public call of the engine ends here, or in a layer below:
/// `engine_steps`, `engine_passes`, `engine_state`.
template <class Types>
class engine_core : public engine_steps<Types> {
 public:
  using typename engine_steps<Types>::device_type;
  using typename engine_steps<Types>::communicator_type;
  using typename engine_steps<Types>::optimizer;
  using typename engine_steps<Types>::parameter_type;
  using typename engine_steps<Types>::stream;

  /// Collective: zeroes the pools, loads the kernels, compares the plan's digest over the ranks,
  /// runs each collective once; ends with a barrier.
  template <class... DeviceArguments>
  engine_core(execution_plan plan,
              bound_model model,
              communicator_type communicator,
              engine_options<optimizer> const& options,
              bool loss_scaling,
              DeviceArguments&&... device_arguments)
      : engine_steps<Types>(loss_scaling,
                            std::move(plan),
                            std::move(model),
                            std::move(communicator),
                            options,
                            std::forward<DeviceArguments>(device_arguments)...),
        registered_(this->memory_, this->communicator_) {
    start();
  }

  ~engine_core() {
    if (this->in_pass()) {
      this->abandon("the engine was destroyed inside a pass");
    }
    this->device_.finish();
    registered_.forget();
    this->communicator_.leave();
  }

  // --- streams of the user's

  /// The compute queue waits for what is in a stream of the user's.
  template <class Stream>
  void used_on(Stream users) {
    this->device_.include(users);
  }

  /// A stream of the user's waits for what is in all queues.
  template <class Stream>
  void join(Stream users) {
    this->device_.make_wait(users);
  }

  // --- timeline

  void start_timeline(std::int64_t most) {
    precondition(most >= 0,
                 "zero::ZeroEngine: start_timeline needs a number of entries of 0 or more");
    this->drain();
    timeline_ = std::make_unique<timeline_recorder<stream>>(static_cast<std::size_t>(most));
    timeline_->start(this->device_);
    this->executor_.record_timeline(timeline_.get());
  }

  [[nodiscard]] std::vector<timeline_entry> stop_timeline() {
    precondition(timeline_ != nullptr,
                 "zero::ZeroEngine: stop_timeline needs a start_timeline before it");
    this->executor_.record_timeline(nullptr);
    this->drain();
    auto entries = timeline_->entries();
    timeline_.reset();
    return entries;
  }

 private:
  /// Everything is made ready that steps must not wait for.
  void start() {
    this->device_.enqueue(queue::compute, [this](stream) { this->bodies_.preload(); });
    for (int p = 0; p < pool_count; ++p) {
      this->fill_now(static_cast<pool>(p), 0);
    }
    if (this->options_.stress.poison) {
      for (auto const p :
           {pool::gradients, pool::parameter_slots, pool::gradient_slots, pool::receive}) {
        this->fill_now(p, 0xff);
      }
    }
    this->step_memory_.write_segments(this->bodies_.segments());
    this->reset_state();
    compare_plans();
    registered_.tell();
    this->exchange().template warm_up<parameter_type>(this->plan_.config.native_reduction,
                                                      prescale_of(this->plan_.config, false));
  }

  void compare_plans() {
    auto mine = digest_of(this->plan_);
    mine.parts[digest_part_of_step] = digest_of_step(this->options_, this->loss_scaling());
    compare_between_ranks(mine, this->model_.parameters, [this](auto const& value) {
      return this->exchange().gather(value, "comparison of plans");
    });
  }

  std::unique_ptr<timeline_recorder<stream>> timeline_;
  registered_pools<device_type, communicator_type> registered_;
};

}  // namespace zero::inline ZERO_ABI::detail
