// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/plan/operation.hpp>
#include <zero/plan/plan.hpp>
#include <zero/version.hpp>

#include <type_traits>

namespace zero::inline ZERO_ABI::detail {

/// The types of a plan's ranges, from values to types.
/// @tparam Parameter         the 16-bit (or FP32) type of most parameters; FP32 ones may stand
///                           beside it
/// @tparam NativeAccumulate  accumulators in the parameter's type instead of FP32
template <class Parameter, bool NativeAccumulate>
struct typed_ranges {
  using accumulator = std::conditional_t<NativeAccumulate, Parameter, float>;

  /// Calls `f(range, type_identity<P>, type_identity<A>)`.
  template <class F>
  static void with_types(unit_range const& r, F&& f) {
    if (r.type == dtype_of<Parameter>) {
      f(r, std::type_identity<Parameter>{}, std::type_identity<accumulator>{});
    } else {
      f(r, std::type_identity<float>{}, std::type_identity<float>{});
    }
  }

  /// Calls `f` as above for each trained range of the operation's unit.
  template <class F>
  static void for_trained(execution_plan const& plan, operation const& op, F&& f) {
    for (auto const& r : plan.layout.ranges_of(plan.layout.unit(op.unit))) {
      if (!r.frozen) {
        with_types(r, f);
      }
    }
  }
};

}  // namespace zero::inline ZERO_ABI::detail
