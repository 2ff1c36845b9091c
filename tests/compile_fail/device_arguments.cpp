// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::ZeroEngine: the device cannot be made of a number of events and what stands
// behind the options
#include <zero/zero.hpp>

#include <boost/hana/define_struct.hpp>

#include <utility>

struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model, (zero::Tensor<float, 300>, weight));
};

using Engine = zero::ZeroEngine<Model, zero::Precision<zero::FP32>>;

void make(zero::local_communicator rank) {
#ifdef ZERO_CONTROL
  zero::host_options const device;
#else
  char const* const device = "cuda:0";
#endif
  Engine const engine(Model(), std::move(rank), {}, device);
}
