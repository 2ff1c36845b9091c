// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::PerUnit: a member was named by more than one For
#include <zero/core/tensor.hpp>
#include <zero/policy/policy_set.hpp>

struct Model {
  zero::Tensor<float, 2> vision, text;
};

using zero::For;
using zero::PerUnit;
using zero::Stage;

template <class... Policies>
using Engine = zero::ZeroEngine<Model, Policies...>;

#ifdef ZERO_CONTROL
using Mixed = Engine<Stage<1>, PerUnit<For<&Model::vision, Stage<0>>, For<&Model::text, Stage<0>>>>;
#else
using Mixed =
    Engine<Stage<1>, PerUnit<For<&Model::vision, Stage<0>>, For<&Model::vision, Stage<2>>>>;
#endif
