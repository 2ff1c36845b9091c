// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/queue.hpp>
#include <zero/detail/control_block.hpp>
#include <zero/device/abilities.hpp>
#include <zero/device/transfer.hpp>
#include <zero/optim/loss_scale.hpp>
#include <zero/optim/step_progress.hpp>
#include <zero/optim/step_state.hpp>
#include <zero/options.hpp>
#include <zero/plan/groups.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// The step's state on the device, as the host reads and writes it between steps. All calls wait,
/// and expect empty queues.
template <class Device, class Optimizer>
class step_memory {
 public:
  using kernels = typename Device::kernels;

  /// Both must outlive this.
  step_memory(control_block<Optimizer> const& control, Device& device)
      : control_(control),
        device_(&device) {}

  /// Where everything lies.
  [[nodiscard]] control_block<Optimizer> const& control() const { return control_; }

  /// Writes the table by which the update finds the scalars of an element.
  void write_segments(std::vector<update_segment> const& segments) {
    if (!segments.empty()) {
      upload(*device_,
             control_.segments(),
             segments.data(),
             static_cast<std::int64_t>(segments.size() * sizeof(update_segment)));
    }
  }

  /// Writes what does not change from step to step, and the state before the first one.
  void reset(engine_options<Optimizer> const& options,
             bool loss_scaling,
             std::vector<update_group> const& groups) {
    step_config<Optimizer> config{};
    config.options = options.optimizer;
    config.scaled = loss_scaling;
    config.scaling = options.loss_scale;
    config.group_count = static_cast<std::int32_t>(groups.size());
    for (std::size_t g = 0; g < groups.size(); ++g) {
      config.groups[g] = {groups[g].lr_scale, groups[g].weight_decay ? 1.0 : 0.0};
    }
    auto const state = initial_state(config);
    upload(*device_, control_.config(), &config, sizeof config);
    upload(*device_, control_.state(), &state, sizeof state);
  }

  /// The record in a slot of the ring of results.
  [[nodiscard]] step_record record(std::int64_t slot) {
    step_record record;
    download(*device_, &record, control_.ring() + slot, sizeof record);
    return record;
  }

  /// How far the training has come.
  [[nodiscard]] step_progress progress() {
    step_state<Optimizer> state;
    download(*device_, &state, control_.state(), sizeof state);
    return progress_of(state);
  }

  /// Goes on from there.
  void set_progress(step_progress const& progress) {
    step_state<Optimizer> state;
    step_config<Optimizer> config{};
    download(*device_, &state, control_.state(), sizeof state);
    download(*device_, &config, control_.config(), sizeof config);
    zero::set_progress(state, progress, config.scaled);
    upload(*device_, control_.state(), &state, sizeof state);
  }

  /// Whether device memory can still be read after a failure: after a fault of a GPU none can.
  [[nodiscard]] bool answers() noexcept {
    if constexpr (separate_memory_device<Device>) {
      try {
        std::int64_t applied = -1;
        kernels::copy(device_->stream(queue::comm),
                      &applied,
                      &control_.state()->applied_steps,
                      sizeof applied);
        device_->finish();
        return applied >= 0;
      } catch (...) {
        return false;
      }
    } else {
      return true;
    }
  }

 private:
  control_block<Optimizer> control_;
  Device* device_;
};

}  // namespace zero::inline ZERO_ABI::detail
