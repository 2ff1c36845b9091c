// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::ZeroEngine: this device has a part of an ability and not all of it
#include <zero/zero.hpp>

#include <boost/hana/define_struct.hpp>

struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model, (zero::Tensor<float, 300>, weight));
};

#include <cstdint>

struct own_device : zero::host_device {
  using host_device::host_device;

  void upload(void* /*to*/, void const* /*from*/, std::int64_t /*bytes*/) {}
#ifdef ZERO_CONTROL
  void download(void* /*to*/, void const* /*from*/, std::int64_t /*bytes*/) {}
#endif
};

struct Own {
  using policy_category = zero::device_category;
  using device = own_device;
};

struct Ranks {
  using policy_category = zero::communicator_category;
  template <class>
  using communicator = zero::local_communicator;
};

using Engine = zero::ZeroEngine<Model, zero::Precision<zero::FP32>, Own, Ranks>;

static_assert(Engine::stage == 0);
