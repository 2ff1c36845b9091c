// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::ZeroEngine: this device policy names no device
#include <zero/zero.hpp>

#include <boost/hana/define_struct.hpp>

struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model, (zero::Tensor<float, 300>, weight));
};

#ifdef ZERO_CONTROL
struct Own {
  using policy_category = zero::device_category;
  using device = zero::host_device;
};
#else
struct Own {
  using policy_category = zero::device_category;
};
#endif

using Engine = zero::ZeroEngine<Model, zero::Precision<zero::FP32>, Own>;

static_assert(Engine::stage == 0);
