// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::describe: an accessor of this struct returns a copy of the member
#include <zero/model/describe.hpp>

#include <boost/hana/adapt_adt.hpp>

struct Model {
  auto& weight() { return weight_; }

  auto const& weight() const { return weight_; }

 private:
  zero::Tensor<float> weight_;
};

#ifdef ZERO_CONTROL
BOOST_HANA_ADAPT_ADT(Model, (weight, [](auto& model) -> auto& { return model.weight(); }));
#else
BOOST_HANA_ADAPT_ADT(Model, (weight, [](auto& model) { return model.weight(); }));
#endif

auto const layout = zero::describe(Model{});
