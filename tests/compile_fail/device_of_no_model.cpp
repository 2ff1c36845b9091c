// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::ZeroEngine: what this device policy names as its device does not model
// zero::device
#include <zero/zero.hpp>

#include <boost/hana/define_struct.hpp>

struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model, (zero::Tensor<float, 300>, weight));
};

struct own_device : zero::host_device {
  using host_device::host_device;
#ifndef ZERO_CONTROL
  void finish() {}  // may throw
#endif
};

struct Own {
  using policy_category = zero::device_category;
  using device = own_device;
};

using Engine = zero::ZeroEngine<Model, zero::Precision<zero::FP32>, Own>;

static_assert(Engine::stage == 0);
