// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::ZeroEngine: this communicator policy names no communicator for this device
#include <zero/zero.hpp>

#include <boost/hana/define_struct.hpp>

struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model, (zero::Tensor<float, 300>, weight));
};

struct Own {
  using policy_category = zero::communicator_category;
#ifdef ZERO_CONTROL
  template <class Device>
  using communicator = zero::local_communicator;
#endif
};

using Engine = zero::ZeroEngine<Model, zero::Precision<zero::FP32>, Own>;

static_assert(Engine::stage == 0);
