// SPDX-License-Identifier: Apache-2.0
#include <zero/policy/per_unit.hpp>

#include <zero/comm/local.hpp>
#include <zero/core/error.hpp>
#include <zero/core/shape.hpp>
#include <zero/core/tensor.hpp>
#include <zero/device/host.hpp>
#include <zero/engine.hpp>
#include <zero/optim/lion.hpp>
#include <zero/plan/plan.hpp>
#include <zero/plan/pools.hpp>
#include <zero/policy/policy_list.hpp>
#include <zero/policy/policy_set.hpp>

#include <boost/hana/define_struct.hpp>
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using zero::Default;
using zero::For;
using zero::PerUnit;
using zero::policy_of_t;
using zero::Stage;
using stages = std::vector<std::int8_t>;

struct Block {
  BOOST_HANA_DEFINE_STRUCT(Block,
                           (zero::Tensor<zero::bf16, 100, 100>, weight),
                           (zero::Tensor<zero::bf16, 100>, bias));
};

struct Model {
  using Vision = std::array<Block, 3>;
  using Text = std::array<zero::Tensor<zero::bf16, 20'000>, 2>;
  BOOST_HANA_DEFINE_STRUCT(Model,
                           (zero::Tensor<zero::bf16, 9'000>, embedding),
                           (Vision, vision),
                           (Text, text),
                           (Block, head));
};

static_assert(std::is_empty_v<PerUnit<Default<Stage<3>>, For<&Model::vision, Stage<2>>>>);
static_assert(zero::policy_of<PerUnit<>, zero::per_unit_category>);
static_assert(zero::policy_of<PerUnit<For<&Model::vision, Stage<2>>>, zero::per_unit_category>);

template <class... Policies>
using Engine = zero::ZeroEngine<Model, Policies...>;

using Mix = PerUnit<For<&Model::vision, Stage<2>>, Default<Stage<3>>, For<&Model::head, Stage<0>>>;

// The default is the stage of the engine.
static_assert(Engine<Mix>::stage == 3);
static_assert(Engine<Stage<1>, PerUnit<For<&Model::head, Stage<0>>>>::stage == 1);
static_assert(Engine<PerUnit<For<&Model::head, Stage<2>>>>::stage == 0);
static_assert(Engine<PerUnit<Default<Stage<2>>>>::stage == 2);
static_assert(std::is_same_v<Engine<PerUnit<>>, Engine<>>, "no mix is the default");
static_assert(std::is_same_v<policy_of_t<zero::policy_list<zero::Lion, Mix>, zero::stage_category>,
                             Stage<3>>);
static_assert(
    std::is_same_v<Engine<Mix, zero::Lion, zero::Host>, Engine<zero::Host, Mix, zero::Lion>>);

// Which lists are engines.
static_assert(zero::valid_policies<Mix>);
static_assert(zero::valid_policies<Stage<2>, PerUnit<For<&Model::head, Stage<0>>>>);
static_assert(!zero::valid_policies<Stage<3>, Mix>);
static_assert(!zero::valid_policies<Mix, Stage<0>>, "the default, said, is a choice as any other");
static_assert(!zero::valid_policies<PerUnit<>, PerUnit<For<&Model::head, Stage<0>>>>);

// A member stands for all its units, whatever its type; the others follow the engine.
static_assert(PerUnit<>::unit_stages(Model{}).empty());
static_assert(PerUnit<Default<Stage<3>>>::unit_stages(Model{}).empty());
static_assert(Mix::unit_stages(Model{}) == stages{-1, 2, 2, 2, -1, -1, 0});
static_assert(PerUnit<For<&Model::text, Stage<1>>, For<&Model::embedding, Stage<3>>>::unit_stages(
                  Model{}) == stages{3, -1, -1, -1, 1, 1, -1});

// Planned by the compiler: each unit costs what its own stage costs.
template <class... Policies>
constexpr zero::execution_plan planned() {
  return zero::plan<Engine<Policies...>>(zero::world<8>);
}

template <class... Policies>
constexpr std::int64_t parameter_bytes =
    planned<Policies...>().pools.rows[static_cast<std::size_t>(zero::pool::parameters)].bytes;

static_assert(planned<Mix>().config.stage_of(1) == 2);
static_assert(planned<Mix>().config.stage_of(4) == 3);
static_assert(planned<Mix>().config.stage_of(6) == 0);
static_assert(parameter_bytes<Stage<3>> < parameter_bytes<Mix>);
static_assert(parameter_bytes<Mix> < parameter_bytes<Stage<2>>);
static_assert(planned<PerUnit<Default<Stage<2>>>>().device_bytes() ==
              planned<Stage<2>>().device_bytes());

/// Has members without units, and one that is not described.
struct Sparse {
  BOOST_HANA_DEFINE_STRUCT(Sparse,
                           (std::vector<Block>, layers),
                           (std::optional<Block>, head),
                           (std::vector<std::optional<Block>>, adapters));
  Block hidden;
};

template <class P>
std::string error_of(Sparse const& model) {
  try {
    static_cast<void>(P::unit_stages(model));
  } catch (zero::logic_error const& error) {
    return error.what();
  }
  return "none";
}

template <auto Member>
using Two = PerUnit<For<&Sparse::layers, Stage<2>>, For<Member, Stage<3>>>;

}  // namespace

TEST_CASE("the units of vectors and optionals are those that they hold") {
  Sparse model;
  model.layers.resize(2);
  model.adapters.resize(3);
  model.adapters[1].emplace();
  CHECK(Two<&Sparse::adapters>::unit_stages(model) == stages{2, 2, 3});
  model.head.emplace();
  CHECK(Two<&Sparse::adapters>::unit_stages(model) == stages{2, 2, -1, 3});
  CHECK(Two<&Sparse::head>::unit_stages(model) == stages{2, 2, 3, -1});
}

TEST_CASE("a member without units is refused by its name") {
  Sparse model;
  CHECK(error_of<Two<&Sparse::head>>(model).find("zero::PerUnit: layers has no units") == 0);
  model.layers.resize(2);
  CHECK(error_of<Two<&Sparse::head>>(model).find("zero::PerUnit: head has no units") == 0);
  model.adapters.resize(3);
  CHECK(error_of<Two<&Sparse::adapters>>(model).find("adapters has no units") != std::string::npos);
}

TEST_CASE("a member that the description does not list is refused by its number") {
  Sparse model;
  model.layers.resize(1);
  CHECK(error_of<Two<&Sparse::hidden>>(model).find("the member of For number 2 is not listed") !=
        std::string::npos);
}

TEST_CASE("an engine refuses such members when it is planned and when it is made") {
  Sparse model;
  model.layers.resize(1);
  using engine = zero::ZeroEngine<Sparse, Two<&Sparse::head>>;
  CHECK_THROWS_WITH_AS(static_cast<void>(zero::plan<engine>(model, 2)),
                       doctest::Contains("head has no units"),
                       zero::logic_error);
  CHECK_THROWS_WITH_AS(
      zero::Local::run(1, [&](auto communicator) { engine(model, std::move(communicator)); }),
      doctest::Contains("head has no units"),
      zero::logic_error);
  model.head.emplace();
  CHECK(zero::plan<engine>(model, 2).config.stage_of(1) == 3);
}
