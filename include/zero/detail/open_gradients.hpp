// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/detail/fill.hpp>
#include <zero/detail/pool_memory.hpp>
#include <zero/detail/tensor_binding.hpp>
#include <zero/plan/operation.hpp>
#include <zero/plan/plan.hpp>
#include <zero/plan/segment.hpp>
#include <zero/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// The gradients of a pass: which slot each open unit's lie in, and whether they hold something
/// yet. Zeroes them as late as it can: when somebody asks for them, or at the close if nobody did.
template <class Device>
class open_gradients {
 public:
  /// All of these must outlive this.
  /// @param poison  slots are filled with NaN when a unit opens them
  open_gradients(execution_plan const& plan,
                 pool_memory<Device> const& memory,
                 tensor_binding<Device> const& binding,
                 Device& device,
                 bool poison)
      : plan_(&plan),
        memory_(&memory),
        binding_(&binding),
        device_(&device),
        poison_(poison),
        slots_(plan.layout.units.size(), std::int32_t{-1}),
        touched_(plan.layout.units.size(), char{0}) {}

  /// A pass begins: nothing is known of any gradient, and the resident unit's, which all leases add
  /// to, are zero.
  void begin_pass(segment const& pass) {
    std::ranges::fill(touched_, char{0});
    std::ranges::fill(slots_, std::int32_t{-1});
    auto const resident = plan_->layout.resident_unit;
    for (auto const& op : pass.at(0)) {
      if (op.unit == resident && op.gradient_slot >= 0) {
        slots_[static_cast<std::size_t>(resident)] = op.gradient_slot;
        fill(resident, 0);
      }
    }
  }

  /// A unit opens by its acquire `op`.
  void open(operation const& op) {
    if (op.gradient_slot >= 0) {
      slots_[static_cast<std::size_t>(op.unit)] = op.gradient_slot;
      if (poison_ && op.has(flag_opens)) {
        fill(op.unit, 0xff);
      }
    }
  }

  /// A unit is about to close by its release `op`. A gradient that nobody asked for is zero.
  void close(operation const& op) {
    if (op.gradient_slot >= 0 && op.has(flag_closes) && !holds_sum(op.unit)) {
      fill(op.unit, 0);
    }
  }

  /// Where the gradients of resident parameters lie, or -1.
  [[nodiscard]] std::int32_t resident_slot() const {
    auto const resident = plan_->layout.resident_unit;
    return resident < 0 ? -1 : slots_[static_cast<std::size_t>(resident)];
  }

  /// Whether the unit's gradient holds a sum already in this pass.
  [[nodiscard]] bool holds_sum(std::int32_t unit) const {
    return touched_[static_cast<std::size_t>(unit)] != 0;
  }

  /// Makes a unit's gradient ready to be added to, or, if the caller will write every element, only
  /// its padding. @pre it holds no sum
  void prepare(std::int32_t unit, bool overwrite) {
    touched_[static_cast<std::size_t>(unit)] = 1;
    auto const slot = slots_[static_cast<std::size_t>(unit)];
    if (slot < 0) {
      return;  // frozen, or all of it resident
    }
    if (!overwrite) {
      fill(unit, 0);
      return;
    }
    auto* const base = memory_->gradient_slot(slot);
    binding_->for_gaps(unit, [&](std::int64_t begin, std::int64_t bytes) {
      enqueue_fill(*device_, base + begin, 0, bytes);
    });
  }

 private:
  void fill(std::int32_t unit, int byte) {
    enqueue_fill(*device_,
                 memory_->gradient_slot(slots_[static_cast<std::size_t>(unit)]),
                 byte,
                 plan_->layout.unit(unit).gradient_slot_bytes);
  }

  execution_plan const* plan_;
  pool_memory<Device> const* memory_;
  tensor_binding<Device> const* binding_;
  Device* device_;
  bool poison_;
  std::vector<std::int32_t> slots_;  // of each unit, since it was opened in this pass
  std::vector<char> touched_;
};

}  // namespace zero::inline ZERO_ABI::detail
