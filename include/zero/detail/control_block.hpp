// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/optim/step_control.hpp>
#include <zero/optim/step_state.hpp>
#include <zero/plan/control.hpp>
#include <zero/plan/groups.hpp>
#include <zero/plan/plan.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>

namespace zero::inline ZERO_ABI::detail {

// What the plan counts is what the step uses.
static_assert(sizeof(rank_record) == agree_record_bytes);
static_assert(sizeof(update_segment) == 24 && sizeof(double) == 8);

/// Bytes that a value of type `T` takes in the control pool.
template <class T>
inline constexpr std::int64_t control_slot =
    round_up(static_cast<std::int64_t>(sizeof(T)), parameter_alignment_bytes);

/// Bytes of the step's state on the device for optimizer `O`; goes into the plan's configuration.
template <class O>
inline constexpr std::int64_t step_state_bytes =
    control_slot<step_state<O>> + control_slot<step_config<O>> + control_slot<step_control> +
    control_slot<step_record> * result_ring;

/// Typed addresses inside the control pool. All of it is device memory.
template <class O>
class control_block {
 public:
  control_block(std::byte* base, execution_plan const& plan)
      : layout_(control_layout_of(plan)),
        base_(base) {}

  [[nodiscard]] double* partials() const { return at<double>(layout_.partials); }

  [[nodiscard]] double* scratch() const { return at<double>(layout_.scratch); }

  [[nodiscard]] rank_record* records() const { return at<rank_record>(layout_.records); }

  [[nodiscard]] step_state<O>* state() const { return at<step_state<O>>(layout_.state); }

  [[nodiscard]] step_config<O>* config() const {
    return at<step_config<O>>(layout_.state + control_slot<step_state<O>>);
  }

  [[nodiscard]] step_control* control() const {
    return at<step_control>(layout_.state + control_slot<step_state<O>> +
                            control_slot<step_config<O>>);
  }

  [[nodiscard]] step_record* ring() const {
    return at<step_record>(layout_.state + control_slot<step_state<O>> +
                           control_slot<step_config<O>> + control_slot<step_control>);
  }

  [[nodiscard]] update_segment* segments() const { return at<update_segment>(layout_.segments); }

  [[nodiscard]] std::byte* window() const { return base_ + layout_.window; }

 private:
  template <class T>
  [[nodiscard]] T* at(std::int64_t offset) const {
    return reinterpret_cast<T*>(base_ + offset);
  }

  control_layout layout_;
  std::byte* base_;
};

}  // namespace zero::inline ZERO_ABI::detail
