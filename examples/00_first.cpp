// SPDX-License-Identifier: Apache-2.0
#include <zero/zero.hpp>

struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model, (zero::Tensor<float, 10'000>, weight));
};

int main() {
  using Engine = zero::ZeroEngine<Model, zero::Stage<2>, zero::Precision<zero::FP32>>;
  std::atomic<double> norm = 1;
  zero::Local::run(4, [&norm](auto communicator) {  // four ranks, threads of this process
    Engine engine(Model(), std::move(communicator));
    for (int step = 0; step < 400; ++step) {
      for ([[maybe_unused]] auto micro : engine.micro_steps(1)) {
        std::vector<double> error(10'000, -engine.rank());  // each rank has data of its own
        auto unit = engine.forward(&Model::weight);
        std::ranges::transform(error, std::span(unit->data(), 10'000), error.begin(), std::plus());
        unit.close();
        std::ranges::copy(error, engine.backward(&Model::weight).grads(zero::overwrite).data());
      }
      engine.step({.lr = 0.01});
    }
    norm = engine.result().norm;  // of the ranks' mean gradient: 150 in the first step
  });
  return norm < 2 ? 0 : 1;
}
