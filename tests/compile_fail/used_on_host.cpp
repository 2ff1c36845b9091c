// SPDX-License-Identifier: Apache-2.0
// expected-error: zero: used_on takes a stream of the engine's device
#include <zero/engine.hpp>

#include <boost/hana/define_struct.hpp>

struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model, (zero::Tensor<float, 300>, weight));
};

using Engine = zero::ZeroEngine<Model, zero::Precision<zero::FP32>>;

void use(Engine& engine) {
  auto lease = engine.forward(&Model::weight);
#ifdef ZERO_CONTROL
  lease.close();
#else
  lease.used_on(0);
#endif
}
