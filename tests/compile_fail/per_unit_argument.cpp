// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::PerUnit: an argument is neither Default<Stage<N>> nor For<&Model::member,
// Stage<N>>
#include <zero/core/tensor.hpp>
#include <zero/policy/policy_set.hpp>

struct Model {
  zero::Tensor<float, 2> vision, text;
};

using zero::Default;
using zero::For;
using zero::PerUnit;
using zero::Stage;

template <class... Policies>
using Engine = zero::ZeroEngine<Model, Policies...>;

#ifdef ZERO_CONTROL
using Mixed = Engine<PerUnit<Default<Stage<3>>, For<&Model::vision, Stage<2>>>>;
#else
using Mixed = Engine<PerUnit<Stage<3>, For<&Model::vision, Stage<2>>>>;
#endif
