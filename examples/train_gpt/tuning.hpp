// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

#include <zero/optim/adamw.hpp>
#include <zero/optim/lion.hpp>
#include <zero/optim/sgd.hpp>

namespace train_gpt {

/// Hyper-parameters beside the learning rate, which each step is given.
inline void tune(zero::AdamW::options& o) {
  o.beta2 = 0.95;
  o.weight_decay = 0.1;
}

inline void tune(zero::Sgd::options& o) {
  o.momentum = 0.9;
}

inline void tune(zero::Lion::options& o) {
  o.weight_decay = 1.0;
}

/// What an engine is told of a command line.
template <class Engine>
[[nodiscard]] typename Engine::options engine_options(options const& chosen) {
  typename Engine::options result;
  result.clip_norm = chosen.clip;
  tune(result.optimizer);
  return result;
}

}  // namespace train_gpt
