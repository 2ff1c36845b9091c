// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::describe: this type is neither a zero::Tensor, nor a Hana struct
#include <zero/model/describe.hpp>

#ifdef ZERO_CONTROL
struct Model {
  int heads = 0;
  BOOST_HANA_DEFINE_STRUCT(Model, (zero::Tensor<float>, weight));
};

auto const names = zero::parameter_names(Model{});
#else
struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model, (zero::Tensor<float>, weight), (int, heads));
};

auto const names = zero::parameter_names(Model{});
#endif
