// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::PerUnit: For names a member of another class than the container of the
// engine
#include <zero/engine.hpp>

#include <boost/hana/define_struct.hpp>

struct Layer {
  BOOST_HANA_DEFINE_STRUCT(Layer, (zero::Tensor<float, 2>, weight));
};

struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model, (Layer, first), (Layer, second));
};

template <auto Member>
using Engine = zero::ZeroEngine<Model,
                                zero::Precision<zero::FP32>,
                                zero::PerUnit<zero::For<Member, zero::Stage<2>>>>;

#ifdef ZERO_CONTROL
constexpr auto bytes = zero::plan<Engine<&Model::second>>(zero::world<8>).device_bytes();
#else
constexpr auto bytes = zero::plan<Engine<&Layer::weight>>(zero::world<8>).device_bytes();
#endif
