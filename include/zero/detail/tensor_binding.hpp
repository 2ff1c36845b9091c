// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/core/tensor.hpp>
#include <zero/detail/pool_memory.hpp>
#include <zero/model/program.hpp>
#include <zero/parameter_view.hpp>
#include <zero/plan/operation.hpp>
#include <zero/plan/plan.hpp>
#include <zero/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// The user's container as the core sees it: names, and for each parameter the tensors whose
/// address is written when a lease opens.
struct bound_model {
  std::vector<std::string> unit_names;
  std::vector<parameter_view> parameters;
  std::vector<tensor_base*> values;
  std::vector<tensor_base*> gradients;
};

/// Writes the addresses of a unit's parameters and gradients into the user's container, and knows
/// what lies between them. Touches no memory of the pools.
template <class Device>
class tensor_binding {
 public:
  /// All three must outlive this.
  tensor_binding(execution_plan const& plan,
                 pool_memory<Device> const& memory,
                 bound_model const& model)
      : plan_(&plan),
        memory_(&memory),
        model_(&model),
        first_parameter_(static_cast<std::size_t>(plan.layout.model_units) + 1, 0) {
    for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
      first_parameter_[static_cast<std::size_t>(plan.parameters[i].unit) + 1] =
          static_cast<std::int32_t>(i) + 1;
    }
    for (std::size_t u = 1; u < first_parameter_.size(); ++u) {
      first_parameter_[u] = std::max(first_parameter_[u], first_parameter_[u - 1]);
    }
  }

  /// A unit opens: in the slots of its acquire `op`, or where the rank holds it. Gradients have
  /// addresses in the backward phase; frozen ones and parameters without elements have none.
  /// @param resident_slot  where the gradients of resident parameters lie
  void bind(std::int32_t unit, phase ph, operation const& op, std::int32_t resident_slot) const {
    for_parameters(unit, [&](std::size_t i, unit_range const* range, std::int64_t offset) {
      auto* const value = model_->values[i];
      value->address = range == nullptr ? nullptr : parameter_base(*range, unit, op) + offset;
      if (ph == phase::backward) {
        auto const slot =
            range != nullptr && range->unit == unit ? op.gradient_slot : resident_slot;
        model_->gradients[i]->address =
            range == nullptr || range->frozen
                ? nullptr
                : memory_->gradient_slot(slot) + range->gradient_slot_offset + offset;
      }
    });
  }

  /// A unit closes: null from here on.
  void unbind(std::int32_t unit) const {
    for_parameters(unit, [&](std::size_t i, unit_range const*, std::int64_t) {
      model_->values[i]->address = nullptr;
      model_->gradients[i]->address = nullptr;
    });
  }

  /// Calls `f(first byte, bytes)` for each part of a unit's gradient slot that belongs to no
  /// parameter.
  template <class F>
  void for_gaps(std::int32_t unit, F&& f) const {
    for (auto const& range : plan_->layout.ranges_of(plan_->layout.unit(unit))) {
      if (range.frozen) {
        continue;
      }
      auto const width = bytes_of(range.type);
      std::int64_t end = 0;
      auto const gap_until = [&](std::int64_t begin) {
        if (end < begin) {
          f(range.gradient_slot_offset + end, begin - end);
        }
      };
      for_parameters(unit, [&](std::size_t i, unit_range const* of, std::int64_t offset) {
        if (of == &range) {
          gap_until(offset);
          end = offset + plan_->parameters[i].elements * width;
        }
      });
      gap_until(range.elements * width);
    }
  }

 private:
  /// Calls `f(index, range or nullptr, offset in bytes)` for each parameter that unit `unit`
  /// declares.
  template <class F>
  void for_parameters(std::int32_t unit, F&& f) const {
    auto const u = static_cast<std::size_t>(unit);
    for (auto i = static_cast<std::size_t>(first_parameter_[u]);
         i < static_cast<std::size_t>(first_parameter_[u + 1]);
         ++i) {
      auto const& place = plan_->layout.places[i];
      auto const* const range = place.range < 0 ? nullptr : &plan_->layout.range(place.range);
      f(i, range, range == nullptr ? 0 : place.offset * bytes_of(range->type));
    }
  }

  [[nodiscard]] std::byte* parameter_base(unit_range const& range,
                                          std::int32_t unit,
                                          operation const& op) const {
    return range.unit == unit && op.parameter_slot >= 0
               ? memory_->parameter_slot(op.parameter_slot) + range.parameter_slot_offset
               : memory_->at(memory_->places().held_parameters(range));
  }

  execution_plan const* plan_;
  pool_memory<Device> const* memory_;
  bound_model const* model_;
  std::vector<std::int32_t> first_parameter_;
};

}  // namespace zero::inline ZERO_ABI::detail
