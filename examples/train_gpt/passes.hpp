// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "float_copy.hpp"
#include "model.hpp"
#include "network.hpp"

#include <zero/engine.hpp>

#include <cstdint>

/// Where ZeRO meets the model. A unit's parameters exist on this rank while its lease is open: each
/// block below opens one, computes with it, and lets it go. The same code serves every stage.
namespace train_gpt {

/// Runs all units but the head. `Pass` is an engine inside a micro-step, or an evaluation pass.
template <class Model, class Pass>
void forward_to_head(Pass& pass, network<float>& net, float_copy& weights, std::int64_t layers) {
  {
    auto const lease = pass.forward(&Model::embed);
    net.embed(weights.of(*lease));
  }
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    auto const lease = pass.forward(&Model::blocks, layer);
    net.block(layer, weights.of(*lease));
  }
  auto const lease = pass.forward(&Model::norm);
  net.norm(weights.of(*lease));
}

/// Runs the backward pass and hands the engine every gradient, in the model's element type.
template <class Model, class Engine>
void backward(Engine& engine,
              network<float>& net,
              float_copy& weights,
              float_copy& gradients,
              std::int64_t layers) {
  {
    auto lease = engine.backward(&Model::embed);  // first visit of this unit: the tied head
    auto const d = gradients.room_for(lease.params());
    net.head_backward(weights.of(lease.params()), d);
    store(lease.grads().tokens, d.tokens, false);
  }
  {
    auto lease = engine.backward(&Model::norm);
    auto const d = gradients.room_for(lease.params());
    net.norm_backward(weights.of(lease.params()), d);
    store(lease.grads(zero::overwrite), d, false);
  }
  for (std::int64_t layer = layers; layer-- > 0;) {
    auto lease = engine.backward(&Model::blocks, layer);
    auto const d = gradients.room_for(lease.params());
    net.block_backward(layer, weights.of(lease.params()), d);
    store(lease.grads(zero::overwrite), d, false);
  }
  auto lease = engine.backward(&Model::embed);  // second visit: the head's gradient is there
  bool const add = lease.accumulate();
  auto const d = gradients.room_for(lease.params());
  net.embed_backward(d);
  store(lease.grads(), d, add);
}

}  // namespace train_gpt
