// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::describe: the container of the parameters must be a Hana struct
#include <zero/model/describe.hpp>

struct Plain {
  zero::Tensor<float, 2> weight;
};

struct Described {
  BOOST_HANA_DEFINE_STRUCT(Described, (zero::Tensor<float, 2>, weight));
};

#ifdef ZERO_CONTROL
static_assert(zero::describe(Described{}).units == 1);
#else
auto const layout = zero::describe(Plain{});
auto const names = zero::parameter_names(Plain{});
auto const units = zero::unit_count(Plain{});
#endif
