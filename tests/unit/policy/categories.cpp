// SPDX-License-Identifier: Apache-2.0
#include <zero/policy/categories.hpp>

#include "tests/support/colour.hpp"

#include <zero/core/dtype.hpp>
#include <zero/core/tensor.hpp>
#include <zero/engine.hpp>
#include <zero/model/type_list.hpp>
#include <zero/policy/compatible.hpp>
#include <zero/policy/concepts.hpp>
#include <zero/policy/policy_list.hpp>
#include <zero/policy/policy_set.hpp>

#include <boost/hana/define_struct.hpp>
#include <doctest/doctest.h>

#include <type_traits>

namespace {

using zero::policy_list;
using zero::policy_of_t;
using zero::Stage;
using zero::test::Colour;
using zero::test::colour_category;
using zero::test::coloured_categories;
using zero::test::Staged;

/// Every default is a choice of its own category.
template <class... Categories>
consteval bool defaults_are_choices(zero::type_list<Categories...>) {
  return (zero::policy_of<typename Categories::default_policy, Categories> && ...);
}

static_assert(defaults_are_choices(zero::engine_categories{}));

// A category that is added is its file, tests/support/colour.hpp, and its row there. All else below
// is as the engine has it.

template <class... Policies>
using resolved =
    typename zero::detail::resolve_policies<policy_list<Policies...>, coloured_categories>::type;

template <class... Policies>
inline constexpr bool valid =
    zero::detail::valid_policies_v<policy_list<Policies...>, coloured_categories>;

/// The canonical list with stage and colour, and else the defaults.
template <int Number, class AnyColour>
using expected_of = policy_list<Stage<Number>,
                                zero::PerUnit<>,
                                zero::Offload<zero::None>,
                                zero::Precision<zero::BF16>,
                                zero::Accumulate<zero::FP32>,
                                zero::Reduction<zero::Ordered>,
                                zero::AdamW,
                                zero::Local,
                                zero::Host,
                                AnyColour>;

template <int Number, int ColourNumber>
using expected = expected_of<Number, Colour<ColourNumber>>;

static_assert(std::is_same_v<resolved<>, expected<0, 0>>, "its default is filled in");
static_assert(std::is_same_v<resolved<Colour<2>>, expected<0, 2>>);
static_assert(std::is_same_v<resolved<Stage<1>, Colour<2>, zero::Host>, expected<1, 2>>);
static_assert(std::is_same_v<resolved<Colour<2>, zero::Host, Stage<1>>, expected<1, 2>>);
static_assert(std::is_same_v<resolved<zero::Host, Stage<1>, Colour<2>>, expected<1, 2>>);

// A policy of it chooses for another category.
static_assert(std::is_same_v<resolved<Staged<2>>, expected_of<2, Staged<2>>>);
static_assert(std::is_same_v<resolved<zero::Host, Staged<1>>, expected_of<1, Staged<1>>>);
static_assert(std::is_same_v<policy_of_t<policy_list<Staged<1>>, zero::stage_category>, Stage<1>>);

static_assert(std::is_same_v<policy_of_t<resolved<Colour<2>>, colour_category>, Colour<2>>);
static_assert(std::is_same_v<policy_of_t<resolved<Colour<2>>, zero::stage_category>, Stage<0>>);

struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model, (zero::Tensor<zero::bf16, 1000>, weight));
};

// An engine gets its own policies out of a list that has others too.
template <int Number, int ColourNumber>
using Coloured = zero::basic_zero_engine<Model, expected<Number, ColourNumber>>;

static_assert(Coloured<2, 1>::stage == 2);
static_assert(zero::plan<Coloured<2, 1>>(zero::world<3>).device_bytes() ==
              zero::plan<zero::ZeroEngine<Model, Stage<2>>>(zero::world<3>).device_bytes());

}  // namespace

TEST_CASE("an added category is chosen by: none, one, but not two, nor one that it refuses") {
  CHECK(valid<>);
  CHECK(valid<Colour<1>>);
  CHECK(valid<Colour<1>, Stage<2>, zero::Lion>);
  CHECK_FALSE(valid<Colour<1>, Colour<1>>);
  CHECK_FALSE(valid<Colour<-1>>);
}

TEST_CASE("an added category may refuse company, whatever the order") {
  CHECK_FALSE(valid<Colour<1>, Stage<3>>);
  CHECK_FALSE(valid<Stage<3>, Colour<1>>);
  CHECK(valid<Colour<0>, Stage<3>>);
  CHECK(valid<Stage<3>>);
  CHECK_FALSE(zero::compatible_v<Colour<1>, Stage<3>>);
  CHECK_FALSE(zero::compatible_v<Stage<3>, Colour<1>>);
  CHECK(zero::compatible_v<Stage<2>, Colour<1>>);
}

TEST_CASE("what a policy brings with it is chosen by nobody else") {
  CHECK(valid<Staged<1>>);
  CHECK_FALSE(valid<Staged<1>, Stage<2>>);
  CHECK_FALSE(valid<Stage<1>, Staged<1>>);
  CHECK_FALSE(zero::compatible_v<Staged<1>, Stage<2>>);
  CHECK_FALSE(zero::compatible_v<Stage<2>, Staged<1>>);
  CHECK(zero::compatible_v<Staged<1>, zero::Lion>);
}

TEST_CASE("the engine's own categories keep their rules beside an added one") {
  CHECK_FALSE(valid<Stage<1>, Stage<2>, Colour<1>>);
  CHECK_FALSE(valid<int, Colour<1>>);
  CHECK_FALSE(zero::valid_policies<Colour<1>>);
}
