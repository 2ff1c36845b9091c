// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/arithmetic.hpp>
#include <zero/core/float_environment.hpp>
#include <zero/optim/concepts.hpp>
#include <zero/options.hpp>
#include <zero/plan/digest.hpp>
#include <zero/version.hpp>

#include <bit>
#include <cstdint>

namespace zero::inline ZERO_ABI::detail {

/// Adds what an optimizer makes of a weight in two steps, from moments of 0.
template <optimizer O>
void add_two_updates(fnv1a& h,
                     typename O::scalars const& scalars,
                     float weight,
                     float first_gradient,
                     float second_gradient) {
  float moments[O::moments == 0 ? 1 : O::moments] = {};
  O::update(weight, first_gradient, moments, scalars);
  O::update(weight, second_gradient, moments, scalars);
  h.add(std::int64_t{std::bit_cast<std::int32_t>(weight)});
  for (float const m : moments) {
    h.add(std::int64_t{std::bit_cast<std::int32_t>(m)});
  }
}

/// Adds what an optimizer with these options makes of a few numbers in step `t`, chosen so that no
/// hyper-parameter is lost in rounding. The learning rates are that of the options, which may be 0,
/// and two with which the others have weight. An epsilon shows beside small gradients alone; the
/// weights of a mixture of which only the sign counts, by where the sign turns: within 2 %.
template <optimizer O>
void add_updates(fnv1a& h, typename O::options const& options, double decay, std::int64_t t) {
  double const rates[] = {options.lr, 1.0, 0x1p10};  // nvcc 13 loses a list that depends on types
  for (double const lr : rates) {
    auto const scalars = O::prepare(options, lr, decay, t);
    for (float const gradient : {0.625F, 0x1p-30F, 0x1p-60F}) {
      for (float const weight : {0.75F, 0.0F}) {
        add_two_updates<O>(h, scalars, weight, gradient, -0.5F * gradient);
      }
    }
  }
  auto const scalars = O::prepare(options, 1.0, decay, t);
  float second = -0.625F;
  for (int i = 0; i < 400; ++i) {
    second = mul(second, 0.98F);
    add_two_updates<O>(h, scalars, 0.75F, 0.625F, second);
  }
}

/// Stands for all that a step depends on besides the plan: the optimizer and its options, and those
/// of clipping, of the mean and, where the loss is scaled, of its scale. The optimizer's options
/// may have padding between them, which has no value; what it makes of a few numbers stands for
/// them.
template <optimizer O>
[[nodiscard]] std::uint64_t digest_of_step(engine_options<O> const& options, bool loss_scaling) {
  exact_float_environment const environment;
  fnv1a h;
  auto const add = [&h](double value) { h.add(std::bit_cast<std::int64_t>(value)); };
  for (std::int64_t const t : {1, 2, 1000}) {
    for (double const decay : {1.0, 0.0}) {
      add_updates<O>(h, options.optimizer, decay, t);
    }
  }
  add(options.optimizer.lr);
  add(options.clip_norm);
  h.add(options.mean ? 1 : 0);
  if (loss_scaling) {
    auto const& scaling = options.loss_scale;
    h.add(scaling.dynamic ? 1 : 0);
    add(scaling.initial);
    h.add(scaling.window);
    h.add(scaling.hysteresis);
    h.add(scaling.consecutive_hysteresis ? 1 : 0);
    add(scaling.minimum);
    add(scaling.maximum);
    h.add(static_cast<std::int64_t>(scaling.at_floor));
  }
  return h.value();
}

}  // namespace zero::inline ZERO_ABI::detail
