// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::ZeroEngine: what this communicator policy names as its communicator does
// not model zero::communicator
#include <zero/zero.hpp>

#include <boost/hana/define_struct.hpp>

struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model, (zero::Tensor<float, 300>, weight));
};

struct own_communicator : zero::local_communicator {
#ifndef ZERO_CONTROL
  void leave() {}  // may throw
#endif
};

struct Own {
  using policy_category = zero::communicator_category;
  template <class Device>
  using communicator = own_communicator;
};

using Engine = zero::ZeroEngine<Model, zero::Precision<zero::FP32>, Own>;

static_assert(Engine::stage == 0);
