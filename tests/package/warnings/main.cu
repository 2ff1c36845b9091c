// SPDX-License-Identifier: Apache-2.0
#include "train.hpp"

#include <zero/cuda.cuh>

#include <array>
#include <utility>

using Layers = std::array<zero::Tensor<zero::bf16, 100>, 3>;

struct OnGpu {
  BOOST_HANA_DEFINE_STRUCT(OnGpu, (Layers, layers));
};

/// Everything of an engine on a GPU is compiled; it needs one to run.
void train_on_gpu() {
  using Engine = zero::ZeroEngine<OnGpu, zero::Stage<3>, zero::Cuda>;
  zero::local_gpu_world::run(2, [](auto communicator) {
    Engine engine(OnGpu(), std::move(communicator));
    for ([[maybe_unused]] auto const micro : engine.micro_steps(2)) {
      for (int l = 0; l < 3; ++l) {
        auto const layer = engine.forward(&OnGpu::layers, l);
      }
      for (int l = 3; l-- > 0;) {
        auto layer = engine.backward(&OnGpu::layers, l);
        static_cast<void>(layer.grads());
      }
    }
    engine.step();
    static_cast<void>(engine.result());
  });
}

int main(int arguments, char** /*values*/) {
  if (arguments > 1) {
    train_on_gpu();
  }
  return trains_all() ? 0 : 1;
}
