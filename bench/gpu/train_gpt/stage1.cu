// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/train_gpt/engine.cuh"

namespace bench {

std::unique_ptr<contestant> make_stage1(task const& task) {
  return std::make_unique<engine_training<1>>(task);
}

}  // namespace bench
