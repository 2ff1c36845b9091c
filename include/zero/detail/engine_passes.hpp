// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>
#include <zero/detail/engine_state.hpp>
#include <zero/detail/fill.hpp>
#include <zero/detail/open_gradients.hpp>
#include <zero/detail/tensor_binding.hpp>
#include <zero/model/program.hpp>
#include <zero/plan/operation.hpp>
#include <zero/plan/pass_kind.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace zero::inline ZERO_ABI::detail {

/// Passes and leases, by the numbers of units.
template <class Types>
class engine_passes : public engine_state<Types> {
 public:
  using typename engine_state<Types>::device_type;

  template <class... Arguments>
  explicit engine_passes(Arguments&&... arguments)
      : engine_state<Types>(std::forward<Arguments>(arguments)...),
        binding_(this->plan_, this->memory_, this->model_),
        gradients_(
            this->plan_, this->memory_, binding_, this->device_, this->options_.stress.poison) {}

  void begin_pass(pass_kind pass) {
    this->executor_.begin(pass);
    gradients_.begin_pass(this->executor_.segment_at_hand());
  }

  void end_pass() { this->executor_.end(); }

  /// Opens a unit: waits for its parameters and writes the addresses of its tensors.
  void open(std::int32_t unit, phase ph) {
    auto const& op = this->executor_.pass_token({unit, ph, true});
    gradients_.open(op);
    binding_.bind(unit, ph, op, gradients_.resident_slot());
  }

  /// Closes a unit. A gradient that nobody asked for is zero; addresses are null from here on.
  void close(std::int32_t unit, phase ph) {
    if (this->executor_.in_pass() && this->executor_.cursor().awaits({unit, ph, false})) {
      auto const& op = this->executor_.next_operation();
      gradients_.close(op);
      if (this->options_.stress.poison && op.parameter_slot >= 0 && op.has(flag_frees)) {
        enqueue_fill(this->device_,
                     this->memory_.parameter_slot(op.parameter_slot),
                     0xff,
                     this->plan_.layout.unit(unit).parameter_slot_bytes);
      }
    }
    this->executor_.pass_token({unit, ph, false});
    binding_.unbind(unit);
  }

  /// Whether the unit's gradient holds a sum already in this pass.
  [[nodiscard]] bool accumulates(std::int32_t unit) const { return gradients_.holds_sum(unit); }

  /// Makes a unit's gradient ready to be added to, or, if the caller will write every element, only
  /// its padding.
  void request_gradients(std::int32_t unit, bool overwrite) {
    this->executor_.check();
    if (!gradients_.holds_sum(unit)) {
      gradients_.prepare(unit, overwrite);
    } else if (overwrite) {
      throw logic_error(this->executor_.sentence(
          "the gradient of '" + this->model_.unit_names[static_cast<std::size_t>(unit)] +
          "' holds a sum already and must not be overwritten; add to it where accumulate() is "
          "true."));
    }
  }

 private:
  tensor_binding<device_type> binding_;
  open_gradients<device_type> gradients_;
};

}  // namespace zero::inline ZERO_ABI::detail
