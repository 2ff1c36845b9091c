// SPDX-License-Identifier: Apache-2.0
#include <zero/detail/tensor_binding.hpp>

#include "tests/unit/plan/random_plan.hpp"

#include <zero/core/dtype.hpp>
#include <zero/core/tensor.hpp>
#include <zero/detail/pool_memory.hpp>
#include <zero/device/host.hpp>
#include <zero/model/program.hpp>
#include <zero/plan/operation.hpp>
#include <zero/plan/plan.hpp>
#include <zero/plan/pools.hpp>
#include <zero/plan/schedule.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace {

using zero::detail::tensor_base;

/// A random plan with its memory, on rank 0 or on the last one, and tensors to be bound.
class bound_plan {
 public:
  explicit bound_plan(std::mt19937& random)
      : plan_(zero::test::draw_case(random).plan()),
        device_(0, zero::host_options{.asynchronous = false}),
        memory_(device_, plan_, random() % 2 == 0 ? 0 : plan_.config.world - 1),
        values_(plan_.parameters.size()),
        gradients_(plan_.parameters.size()) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      model_.values.push_back(&values_[i]);
      model_.gradients.push_back(&gradients_[i]);
    }
    for (auto const& op : pass().operations) {
      if (op.unit == plan_.layout.resident_unit && op.gradient_slot >= 0) {
        resident_slot_ = op.gradient_slot;
      }
    }
  }

  /// The training pass that has everything in it.
  [[nodiscard]] zero::segment const& pass() const {
    return plan_.passes[static_cast<std::size_t>(zero::index_of({true, true, true, false}))];
  }

  /// Binds at each open of the pass, and checks what is bound.
  void check() {
    zero::detail::tensor_binding<zero::host_device> const binding(plan_, memory_, model_);
    for (std::size_t p = 0; p < pass().tokens.size(); ++p) {
      auto const& token = pass().tokens[p];
      auto const& op = pass().operations[static_cast<std::size_t>(pass().starts[p + 1])];
      if (token.open) {
        binding.bind(token.unit, token.ph, op, resident_slot_);
        for (std::size_t i = 0; i < values_.size(); ++i) {
          check_bound(i, token, op);
        }
        if (op.gradient_slot >= 0) {
          check_gaps(binding, token.unit, op);
        }
        binding.unbind(token.unit);
        for (std::size_t i = 0; i < values_.size(); ++i) {
          CHECK(values_[i].address == nullptr);
          CHECK(gradients_[i].address == nullptr);
        }
      }
    }
  }

 private:
  /// Whether `address` and the parameter's bytes behind it lie in `bytes` bytes from `base` on, at
  /// a multiple of 256 of them.
  [[nodiscard]] bool inside(std::size_t i,
                            void const* address,
                            std::byte const* base,
                            std::int64_t bytes) const {
    auto const at = static_cast<std::byte const*>(address) - base;
    auto const& p = plan_.parameters[i];
    return at >= 0 && at % 256 == 0 && at + p.elements * zero::bytes_of(p.type) <= bytes;
  }

  void check_bound(std::size_t i, zero::program_token const& token, zero::operation const& op) {
    auto const& p = plan_.parameters[i];
    if (p.unit != token.unit || p.elements == 0) {
      CHECK(values_[i].address == nullptr);
      CHECK(gradients_[i].address == nullptr);
      return;
    }
    auto const& range = plan_.layout.ranges[static_cast<std::size_t>(plan_.layout.places[i].range)];
    auto const& unit = plan_.layout.units[static_cast<std::size_t>(range.unit)];
    bool const resident = range.unit != token.unit;
    if (!resident && op.parameter_slot >= 0) {
      CHECK(inside(i,
                   values_[i].address,
                   memory_.parameter_slot(op.parameter_slot),
                   unit.parameter_slot_bytes));
    } else {
      CHECK(inside(i,
                   values_[i].address,
                   memory_.base(zero::pool::parameters),
                   memory_.allocated_bytes(zero::pool::parameters)));
    }
    if (token.ph == zero::phase::forward || p.traits.frozen) {
      CHECK(gradients_[i].address == nullptr);
    } else {
      auto const slot = resident ? resident_slot_ : op.gradient_slot;
      CHECK(
          inside(i, gradients_[i].address, memory_.gradient_slot(slot), unit.gradient_slot_bytes));
    }
  }

  /// Parameters and gaps cover the slot, and no byte twice.
  void check_gaps(zero::detail::tensor_binding<zero::host_device> const& binding,
                  std::int32_t unit,
                  zero::operation const& op) {
    auto const bytes = plan_.layout.units[static_cast<std::size_t>(unit)].gradient_slot_bytes;
    std::vector<char> owners(static_cast<std::size_t>(bytes), char{0});
    auto const take = [&](std::int64_t begin, std::int64_t size) {
      for (auto at = begin; at < begin + size; ++at) {
        ++owners[static_cast<std::size_t>(at)];
      }
    };
    binding.for_gaps(unit, take);
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      auto const& p = plan_.parameters[i];
      auto const range = plan_.layout.places[i].range;
      if (gradients_[i].address != nullptr &&
          plan_.layout.ranges[static_cast<std::size_t>(range)].unit == unit) {
        take(static_cast<std::byte*>(gradients_[i].address) -
                 memory_.gradient_slot(op.gradient_slot),
             p.elements * zero::bytes_of(p.type));
      }
    }
    CHECK(std::ranges::all_of(owners, [](char count) { return count == 1; }));
  }

  zero::execution_plan plan_;
  zero::host_device device_;
  zero::detail::pool_memory<zero::host_device> memory_;
  std::vector<tensor_base> values_;
  std::vector<tensor_base> gradients_;
  zero::detail::bound_model model_;
  std::int32_t resident_slot_ = -1;
};

TEST_CASE("tensors point into the slots of their unit, and gaps are what lies between them") {
  std::mt19937 random(91);
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    bound_plan(random).check();
  }
}

}  // namespace
