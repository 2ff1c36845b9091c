// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "network.hpp"
#include "pointers.hpp"

#include <zero/lease.hpp>

#include <cstdint>

/// Where ZeRO meets the model, on a GPU: as `train_gpt::forward_to_head` and `backward`, but the
/// kernels read parameters and write gradients where the lease says they lie.
namespace train_gpt::gpu {

/// Runs all units but the head. `Pass` is an engine inside a micro-step, or an evaluation pass.
template <class Model, class Pass, class T>
void forward_to_head(Pass& pass, network<T>& net, std::int64_t layers) {
  {
    auto const lease = pass.forward(&Model::embed);
    net.embed(addresses(*lease));
  }
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    auto const lease = pass.forward(&Model::blocks, layer);
    net.block(layer, addresses(*lease));
  }
  auto const lease = pass.forward(&Model::norm);
  net.norm(addresses(*lease));
}

/// Runs the backward pass. Every gradient is written whole, so the engine need not zero it.
template <class Model, class Engine, class T>
void backward(Engine& engine, network<T>& net, std::int64_t layers) {
  {
    auto lease = engine.backward(&Model::embed);  // first visit of this unit: the tied head
    net.head_backward(addresses(lease.params()), addresses(lease.grads(zero::overwrite)));
  }
  {
    auto lease = engine.backward(&Model::norm);
    net.norm_backward(addresses(lease.params()), addresses(lease.grads(zero::overwrite)));
  }
  for (std::int64_t layer = layers; layer-- > 0;) {
    auto lease = engine.backward(&Model::blocks, layer);
    net.block_backward(layer, addresses(lease.params()), addresses(lease.grads(zero::overwrite)));
  }
  auto lease = engine.backward(&Model::embed);  // second visit: the head's gradient is there
  net.embed_backward(addresses(lease.grads()));
}

}  // namespace train_gpt::gpu
