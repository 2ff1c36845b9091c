// SPDX-License-Identifier: Apache-2.0
#include <zero/model/element_types.hpp>

#include "random_container.hpp"

#include <zero/model/describe.hpp>

#include <doctest/doctest.h>

#include <array>
#include <optional>
#include <type_traits>
#include <vector>

namespace {

using zero::bf16;
using zero::fp16;
using zero::Tensor;
using zero::type_list;

struct None {
  BOOST_HANA_DEFINE_STRUCT(None);
};

struct One {
  BOOST_HANA_DEFINE_STRUCT(One, (Tensor<fp16>, a), (Tensor<fp16, 4, 2>, b), (None, c));
};

struct Two {
  BOOST_HANA_DEFINE_STRUCT(Two, (std::array<Tensor<float>, 2>, a), (std::vector<One>, b));
};

struct Three {
  BOOST_HANA_DEFINE_STRUCT(Three,
                           (std::optional<std::vector<std::optional<Tensor<bf16>>>>, a),
                           (Two, b));
};

struct Plain {
  Tensor<float> first;
  Tensor<bf16> rest[2];
};

static_assert(std::is_same_v<zero::model_element_types<None>, type_list<>>);
static_assert(std::is_same_v<zero::model_element_types<One>, type_list<fp16>>);
static_assert(std::is_same_v<zero::model_element_types<Two>, type_list<float, fp16>>);
static_assert(std::is_same_v<zero::model_element_types<Three>, type_list<bf16, float, fp16>>);
static_assert(std::is_same_v<zero::model_element_types<Three const>, type_list<bf16, float, fp16>>);

template <class List>
struct holds;

template <class... Ts>
struct holds<type_list<Ts...>> {
  static bool type(zero::dtype wanted) { return ((zero::dtype_of<Ts> == wanted) || ...); }
};

}  // namespace

BOOST_HANA_ADAPT_STRUCT(Plain, first, rest);

static_assert(std::is_same_v<zero::model_element_types<Plain>, type_list<float, bf16>>);

TEST_CASE("every tensor that is there is of one of the types") {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    zero::test::random_container const container(seed);
    for (auto const& parameter : zero::describe(container.model).parameters) {
      CHECK(holds<zero::model_element_types<zero::test::Everything>>::type(parameter.type));
    }
  }
}
