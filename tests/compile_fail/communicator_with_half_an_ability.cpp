// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::ZeroEngine: this communicator has a part of an ability and not all of it
#include <zero/zero.hpp>

#include <boost/hana/define_struct.hpp>

struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model, (zero::Tensor<float, 300>, weight));
};

struct own_communicator : zero::local_communicator {
  void begin_watch(zero::host_stream /*stream*/, zero::collective_tag const& /*tag*/) {}
#ifdef ZERO_CONTROL
  void end_watch(zero::host_stream /*stream*/) {}
#endif
};

struct Own {
  using policy_category = zero::communicator_category;
  template <class Device>
  using communicator = own_communicator;
};

using Engine = zero::ZeroEngine<Model, zero::Precision<zero::FP32>, Own>;

static_assert(Engine::stage == 0);
