// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::ZeroEngine: join takes a stream of the engine's device
#include <zero/engine.hpp>

#include <boost/hana/define_struct.hpp>

struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model, (zero::Tensor<float, 300>, weight));
};

using Engine = zero::ZeroEngine<Model, zero::Precision<zero::FP32>>;

void collectives_of_my_own(Engine& engine) {
#ifdef ZERO_CONTROL
  static_cast<void>(engine.result());
#else
  engine.join(0);
#endif
}
