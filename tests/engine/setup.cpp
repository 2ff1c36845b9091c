// SPDX-License-Identifier: Apache-2.0
#include "tests/laws/engine_setup.hpp"
#include "tests/support/drift.hpp"
#include "tests/support/host_platform.hpp"
#include "tests/support/stack.hpp"

#include <zero/core/dtype.hpp>
#include <zero/core/shape.hpp>
#include <zero/core/tensor.hpp>
#include <zero/optim/lion.hpp>
#include <zero/optim/sgd.hpp>
#include <zero/policy/accumulate.hpp>
#include <zero/policy/precision.hpp>
#include <zero/policy/reduction.hpp>
#include <zero/policy/stage.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace {

using platform = zero::test::host_platform;
using stack = zero::test::stack::model<zero::bf16>;
using half_stack = zero::test::stack::model<zero::fp16>;

template <class... Policies>
using engine = zero::laws::engine_on<platform, stack, Policies...>;
using half_engine = zero::laws::engine_on<platform, half_stack, zero::Precision<zero::FP16>>;

stack const layers = zero::test::stack::make<zero::bf16>(1000);

TEST_CASE("ranks that are not built alike are told which differs and in what") {
  using type = engine<zero::Stage<3>>;
  using options = type::options;
  char const* const schedule = "the settings of the schedule of rank 2 differ";
  char const* const parameters = "the parameters (count, sizes, types or traits) of rank 2 differ";
  char const* const step =
      "the optimizer or the options of the step (clipping, mean, loss scale) of rank 2 differ";
  zero::laws::disagreement_law<platform, type>(
      layers,
      {
          {[](stack&, options& o) { o.schedule.prefetch_units = 2; }, schedule},
          {[](stack&, options& o) { o.schedule.piece_bytes = 1; }, schedule},
          {[](stack&, options& o) { o.schedule.residency_bytes = 0; }, schedule},
          {[](stack&, options& o) { o.schedule.gather_tied = true; }, schedule},
          {[](stack& m, options&) { m.layers.pop_back(); }, parameters},
          {[](stack& m, options&) { m.layers[1].bias = zero::Tensor<zero::bf16>(zero::shape{7}); },
           parameters},
          {[](stack& m, options&) { m.layers[1].bias.traits.frozen = true; }, parameters},
          {[](stack& m, options&) { m.layers[1].bias.traits.lr_scale = 2; }, parameters},
          {[](stack& m, options&) { m.layers[1].bias.traits.weight_decay = false; }, parameters},
      });
  zero::laws::disagreement_law<platform, type>(
      layers,
      {
          {[](stack&, options& o) { o.clip_norm = 1; }, step},
          {[](stack&, options& o) { o.mean = false; }, step},
          {[](stack&, options& o) { o.optimizer.lr = 1; }, step},
          {[](stack&, options& o) { o.optimizer.beta2 = 0.99; }, step},
          {[](stack&, options& o) { o.optimizer.weight_decay = 0; }, step},
      });
}

TEST_CASE("parameters of other names or shapes are named, wherever they stand") {
  using type = engine<zero::Stage<2>>;
  zero::laws::other_type_law<
      platform,
      type,
      zero::laws::engine_on<platform, zero::laws::renamed_stack, zero::Stage<2>>>(
      layers,
      zero::laws::rename(layers),
      "parameter 1 is 'layers.0.bias' [100] on rank 0 and 'layers.0.offset' [100] on rank 2");
  using options = type::options;
  for (std::size_t layer = 0; layer < layers.layers.size(); ++layer) {
    auto const number = std::to_string(layer);
    zero::laws::disagreement_law<platform, type>(
        layers,
        {{[layer](stack& m, options&) {
            m.layers[layer].weight = zero::Tensor<zero::bf16>(zero::shape{10, 100});
          },
          "parameter " + std::to_string(2 * layer) + " is 'layers." + number +
              ".weight' [1000] on rank 0 and 'layers." + number + ".weight' [10, 100] on rank 2"}});
  }
}

TEST_CASE("ranks with other engine types are told so") {
  auto const halves = zero::test::stack::make<zero::fp16>(1000);
  using type = engine<zero::Stage<2>>;
  char const* const policies = "the policies of rank 2 differ";
  zero::laws::other_type_law<platform, type, engine<zero::Stage<1>>>(layers, layers, policies);
  zero::laws::
      other_type_law<platform, type, engine<zero::Stage<2>, zero::Accumulate<zero::Native>>>(
          layers, layers, policies);
  zero::laws::other_type_law<platform, type, engine<zero::Stage<2>, zero::Reduction<zero::Native>>>(
      layers, layers, policies);
  zero::laws::other_type_law<platform, type, engine<zero::Stage<2>, zero::Lion>>(
      layers, layers, policies);
  zero::laws::other_type_law<platform,
                             engine<zero::Stage<2>, zero::Sgd>,
                             engine<zero::Stage<2>, zero::Lion>>(
      layers,
      layers,
      "the optimizer or the options of the step (clipping, mean, loss scale) of rank 2 differ");
  zero::laws::other_type_law<platform, zero::laws::engine_on<platform, stack>, half_engine>(
      layers, halves, "the parameters (count, sizes, types or traits) of rank 2 differ");
}

TEST_CASE("the loss scale belongs to what ranks must agree on") {
  auto const halves = zero::test::stack::make<zero::fp16>(1000);
  using options = half_engine::options;
  char const* const step =
      "the optimizer or the options of the step (clipping, mean, loss scale) of rank 2 differ";
  zero::laws::disagreement_law<platform, half_engine>(
      halves,
      {
          {[](half_stack&, options& o) { o.loss_scale.initial = 16; }, step},
          {[](half_stack&, options& o) { o.loss_scale.window = 16; }, step},
          {[](half_stack&, options& o) { o.loss_scale.hysteresis = 1; }, step},
          {[](half_stack&, options& o) { o.loss_scale.consecutive_hysteresis = true; }, step},
          {[](half_stack&, options& o) { o.loss_scale.minimum = 2; }, step},
          {[](half_stack&, options& o) { o.loss_scale.maximum = 1024; }, step},
          {[](half_stack&, options& o) { o.loss_scale.dynamic = false; }, step},
      });
}

TEST_CASE("the program belongs to what ranks must agree on") {
  using model = zero::laws::two_ways;
  using type = zero::laws::engine_on<platform, model, zero::Stage<3>>;
  model two;
  two.first = zero::Tensor<zero::bf16>(zero::shape{300});
  two.second = zero::Tensor<zero::bf16>(zero::shape{300});
  zero::laws::disagreement_law<platform, type>(
      two, {{[](model& m, type::options&) { m.swapped = true; }, "the program of rank 2 differ"}});
}

TEST_CASE("construction runs each collective of the engine once and ends with a barrier") {
  zero::laws::warm_up_law<platform, engine<zero::Stage<0>>>(layers, false);
  zero::laws::warm_up_law<platform, engine<zero::Stage<3>>>(layers, false);
  zero::laws::warm_up_law<platform, engine<zero::Stage<1>, zero::Reduction<zero::Native>>>(layers,
                                                                                           true);
  zero::laws::warm_up_law<platform, engine<zero::Stage<2>, zero::Reduction<zero::Native>>>(layers,
                                                                                           true);
}

TEST_CASE("settings that make no sense are refused") {
  using type = engine<>;
  auto const refused = [](char const* part, auto change) {
    zero::laws::bad_setting_law<platform, type>(layers, part, change);
  };
  refused("clip_norm must be finite and not negative", [](type::options& o) { o.clip_norm = -1; });
  refused("clip_norm must be finite and not negative",
          [](type::options& o) { o.clip_norm = std::numeric_limits<double>::infinity(); });
  refused("beta1 and beta2 must be", [](type::options& o) { o.optimizer.beta1 = 1; });
  refused("must be finite and not negative",
          [](type::options& o) { o.optimizer.lr = std::numeric_limits<double>::infinity(); });
  refused("must be finite and not negative", [](type::options& o) { o.optimizer.lr = -1e-9; });
  refused("eps must be above 0", [](type::options& o) { o.optimizer.eps = 0; });
  refused("prefetch_units must be from 0 to 1024",
          [](type::options& o) { o.schedule.prefetch_units = -1; });
  refused("piece_bytes must be positive", [](type::options& o) { o.schedule.piece_bytes = 0; });
  refused("residency_bytes must not be negative",
          [](type::options& o) { o.schedule.residency_bytes = -1; });
  auto const halves = zero::test::stack::make<zero::fp16>(1000);
  zero::laws::bad_setting_law<platform, half_engine>(
      halves, "window and hysteresis", [](auto& o) { o.loss_scale.window = 0; });
}

TEST_CASE("a container that has no tensors yet is refused") {
  zero::laws::bad_setting_law<platform, engine<>>(
      zero::test::stack::model<zero::bf16>{}, "the container has no tensors", [](auto&) {});
}

TEST_CASE("more kinds of update than there are groups are refused") {
  zero::test::stack::model<zero::bf16> many = layers;
  for (int i = 0; i < 17; ++i) {
    many.layers.push_back(many.layers.front());
    many.layers.back().weight.traits.lr_scale = 2.0 + i;
  }
  zero::laws::bad_setting_law<platform, engine<>>(
      many, "more than 16 different pairs of lr_scale and weight_decay", [](auto&) {});
}

TEST_CASE("an optimizer under which zeros do not stay zeros is refused") {
  zero::laws::bad_setting_law<platform, engine<zero::test::Drift<zero::test::drift::always>>>(
      layers, "padding must stay zero", [](auto&) {});
}

}  // namespace
