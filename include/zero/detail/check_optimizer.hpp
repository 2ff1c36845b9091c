// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/arithmetic.hpp>
#include <zero/core/error.hpp>
#include <zero/optim/concepts.hpp>
#include <zero/version.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace zero::inline ZERO_ABI::detail {

/// Whether `holds` is true of the weight and the moments that one update makes of `weight`,
/// `gradient` and moments of 0.
template <optimizer O, class Holds>
[[nodiscard]] bool updates_to(typename O::scalars const& scalars,
                              float weight,
                              float gradient,
                              Holds holds) {
  float moments[O::moments == 0 ? 1 : O::moments] = {};
  O::update(weight, gradient, moments, scalars);
  return holds(weight) && std::all_of(std::begin(moments), std::end(moments), holds);
}

/// Refuses options that would spoil the parameters in the first step, and optimizers under which
/// zeros do not stay zeros: padding would come alive. Of the latter every step must be sound, with
/// whatever learning rate it is given, with weight decay and without: padding is updated as the
/// parameter before it is.
/// @throws logic_error with a sentence that says what to choose instead
template <optimizer O>
void check_optimizer(typename O::options const& options) {
  precondition(
      is_finite(options.lr) && options.lr >= 0,
      "zero::ZeroEngine: the learning rate of the optimizer's options must be finite and not "
      "negative; 0 where every step is given its own");
  if constexpr (requires { O::check(options); }) {
    O::check(options);
  }
  auto const finite = [](float value) { return is_finite(value); };
  precondition(
      updates_to<O>(O::prepare(options, options.lr, 1.0, 1), 0.75F, -0.375F, finite),
      "zero::ZeroEngine: with these options the optimizer's first step gives a number that "
      "is not finite; choose lr and the others within the ranges that their comments say");
  auto const zero = [](float value) { return is_finite(value) && value == 0; };
  double const rates[] = {options.lr, 1.0, 0.0};  // nvcc 13 loses a list that depends on types
  for (std::int64_t const t : {1, 2, 1000}) {
    for (double const decay : {1.0, 0.0}) {
      for (double const lr : rates) {
        auto const scalars = O::prepare(options, lr, decay, t);
        precondition(
            updates_to<O>(scalars, 0.0F, 0.0F, zero) && updates_to<O>(scalars, 0.0F, -0.0F, zero),
            "zero::ZeroEngine: the optimizer changes a zero parameter with a zero gradient "
            "and zero moments; padding must stay zero, so write update() such that zeros "
            "stay zeros, and choose its options so");
      }
    }
  }
}

}  // namespace zero::inline ZERO_ABI::detail
