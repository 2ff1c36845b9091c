// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::ZeroEngine: the kernels of this device are only declared
#include <zero/zero.hpp>

#include <boost/hana/define_struct.hpp>

struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model, (zero::Tensor<float, 300>, weight));
};

#ifdef ZERO_CONTROL
struct own_kernels : zero::host_kernels {};
#else
struct own_kernels;
#endif

struct own_device : zero::host_device {
  using host_device::host_device;
  using kernels = own_kernels;
};

struct Own {
  using policy_category = zero::device_category;
  using device = own_device;
};

using Engine = zero::ZeroEngine<Model, zero::Precision<zero::FP32>, Own>;

static_assert(Engine::stage == 0);
