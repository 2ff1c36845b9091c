// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::describe: this type is neither a zero::Tensor, nor a Hana struct
#include <zero/model/describe.hpp>

struct Plain {
  zero::Tensor<float, 2> weight;
};

struct Described {
  BOOST_HANA_DEFINE_STRUCT(Described, (zero::Tensor<float, 2>, weight));
};

template <class Member>
struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model, (std::vector<Member>, layers));
};

#ifdef ZERO_CONTROL
auto const layout = zero::describe(Model<Described>{});
#else
auto const layout = zero::describe(Model<Plain>{});
#endif
