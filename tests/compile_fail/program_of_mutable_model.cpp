// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::make_program: this container has a zero_program that cannot be called
#include <zero/model/program.hpp>

struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model, (zero::Tensor<float>, first), (zero::Tensor<float>, second));
};

#ifdef ZERO_CONTROL
constexpr void zero_program(Model const&, auto& builder) {
  builder.visit(&Model::second);
  builder.visit(&Model::first);
}
#else
constexpr void zero_program(Model&, auto& builder) {
  builder.visit(&Model::second);
  builder.visit(&Model::first);
}
#endif

auto const program = zero::make_program(Model{});
