// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::ZeroEngine: capture needs a device with graphs
#include <zero/engine.hpp>

#include <boost/hana/define_struct.hpp>

struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model, (zero::Tensor<float, 300>, weight));
};

using Engine = zero::ZeroEngine<Model, zero::Precision<zero::FP32>>;

void train(Engine& engine) {
#ifdef ZERO_CONTROL
  engine.step();
#else
  auto const captured = engine.capture([&] { engine.step(); });
  engine.replay(captured);
#endif
}
