// SPDX-License-Identifier: Apache-2.0
#include <zero/model/unit.hpp>

#include "random_container.hpp"

#include <zero/core/error.hpp>
#include <zero/model/describe.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tests/support/count_allocations.hpp>
#include <type_traits>
#include <vector>

namespace {

using zero::Tensor;
using zero::test::Everything;
using zero::test::Leaf;
using zero::test::random_container;

static_assert(std::is_same_v<zero::unit_type_t<Leaf>, Leaf>);
static_assert(std::is_same_v<zero::unit_type_t<Tensor<float>>, Tensor<float>>);
static_assert(std::is_same_v<zero::unit_type_t<std::vector<Leaf>>, Leaf>);
static_assert(std::is_same_v<zero::unit_type_t<std::array<Leaf, 3>>, Leaf>);
static_assert(std::is_same_v<zero::unit_type_t<Leaf[3]>, Leaf>);
static_assert(std::is_same_v<zero::unit_type_t<std::optional<Leaf>>, Leaf>);
static_assert(std::is_same_v<zero::unit_type_t<std::vector<std::optional<Leaf>>>, Leaf>);
static_assert(std::is_same_v<zero::unit_type_t<std::optional<std::vector<Leaf>>>, Leaf>);
static_assert(std::is_same_v<zero::unit_type_t<std::vector<std::vector<Leaf>>>, std::vector<Leaf>>,
              "what lies deeper belongs to the unit");

static_assert(!zero::is_indexed_v<Leaf>);
static_assert(!zero::is_indexed_v<Tensor<float>>);
static_assert(!zero::is_indexed_v<std::optional<Leaf>>);
static_assert(zero::is_indexed_v<std::vector<Leaf>>);
static_assert(zero::is_indexed_v<std::array<Leaf, 1>>);
static_assert(zero::is_indexed_v<Leaf[1]>);
static_assert(zero::is_indexed_v<std::optional<std::vector<Leaf>>>);

struct Model {
  Leaf unlisted;
  BOOST_HANA_DEFINE_STRUCT(Model,
                           (Leaf, first),
                           (std::vector<Leaf>, layers),
                           (std::vector<std::optional<Leaf>>, sparse),
                           (std::optional<Leaf>, head),
                           (Leaf, last));
};

constexpr Model make_model() {
  Model model;
  model.layers.emplace_back();
  model.layers.emplace_back();
  model.sparse.push_back(std::nullopt);
  model.sparse.push_back(Leaf{});
  return model;
}

// A look-up is a constant expression.
static_assert(zero::unit_count(make_model()) == 5);
static_assert(zero::find_unit(make_model(), &Model::first) == 0);
static_assert(zero::find_unit(make_model(), &Model::layers) == 1);
static_assert(zero::find_unit(make_model(), &Model::layers, 1) == 2);
static_assert(zero::find_unit(make_model(), &Model::sparse, 1) == 3);
static_assert(zero::find_unit(make_model(), &Model::last) == 4);
static_assert(zero::unit_count_of(make_model(), &Model::layers) == 2);
static_assert(zero::unit_count_of(make_model(), &Model::sparse) == 1);
static_assert(zero::unit_count_of(make_model(), &Model::head) == 0);

std::string error_of(Model const& model, auto pointer, std::int64_t index) {
  try {
    auto const unit = zero::find_unit(model, pointer, index);
    return "found unit " + std::to_string(unit);
  } catch (zero::logic_error const& error) {
    return error.what();
  }
}

void has(std::string const& text, std::string const& part) {
  CAPTURE(text);
  CAPTURE(part);
  CHECK(text.find(part) != std::string::npos);
}

/// Looks one member of a random container up in every way, beside the addresses that were noted.
template <class Member>
void check_member(random_container& container,
                  zero::test::notes const& expected,
                  Member Everything::* pointer,
                  std::string const& name) {
  auto const& model = container.model;
  std::int32_t units = 0;
  for (std::size_t u = 0; u < expected.units.size(); ++u) {
    if (expected.units[u] != name && !expected.units[u].starts_with(name + ".")) {
      continue;
    }
    ++units;
    auto const index = expected.units[u] == name
                           ? std::int64_t{0}
                           : std::stoll(expected.units[u].substr(name.size() + 1));
    CHECK(zero::find_unit(model, pointer, index) == static_cast<std::int32_t>(u));
  }
  CHECK(zero::unit_count_of(model, pointer) == units);
  CHECK_THROWS_AS((void)zero::find_unit(model, pointer, 1000), zero::logic_error);
  CHECK_THROWS_AS((void)zero::find_unit(model, pointer, -1), zero::logic_error);
}

}  // namespace

TEST_CASE("every unit of a random container is found by its member and index") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    random_container container(seed);
    auto const expected = container.take_notes();
    CHECK(zero::unit_count(container.model) == static_cast<std::int32_t>(expected.units.size()));
    check_member(container, expected, &Everything::first, "first");
    check_member(container, expected, &Everything::nodes, "nodes");
    check_member(container, expected, &Everything::deep, "deep");
    check_member(container, expected, &Everything::maybe, "maybe");
    check_member(container, expected, &Everything::sparse, "sparse");
    check_member(container, expected, &Everything::lone, "lone");
    check_member(container, expected, &Everything::list, "list");
    check_member(container, expected, &Everything::tower, "tower");
    check_member(container, expected, &Everything::groups, "groups");
    check_member(container, expected, &Everything::last, "last");
  }
}

TEST_CASE("the addresses of units are those of the objects that visits see") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    random_container container(seed);
    auto const expected = container.take_notes();
    auto const addresses = zero::unit_addresses(container.model);
    REQUIRE(addresses.size() == expected.unit_addresses.size());
    bool same = true;
    for (std::size_t u = 0; u < addresses.size(); ++u) {
      same = same && addresses[u] == expected.unit_addresses[u];
    }
    CHECK(same);
  }
}

TEST_CASE("a look-up that fails names the member, the index and what is wrong") {
  auto const model = make_model();
  has(error_of(model, &Model::layers, 2), "layers[2] is out of range; layers has 2 elements");
  has(error_of(model, &Model::layers, -1), "layers[-1] is out of range");
  has(error_of(model, &Model::first, 1), "first[1] is out of range; first is one unit");
  has(error_of(model, &Model::head, 0), "head is an empty optional");
  has(error_of(model, &Model::sparse, 0), "sparse[0] is an empty optional");
  has(error_of(model, &Model::sparse, 2), "sparse[2] is out of range; sparse has 2 elements");
  has(error_of(model, &Model::unlisted, 0), "not listed");
}

TEST_CASE("an optional vector is told apart from an empty one") {
  struct Tower {
    BOOST_HANA_DEFINE_STRUCT(Tower, (std::optional<std::vector<Leaf>>, layers));
  };

  Tower tower;
  CHECK_THROWS_WITH_AS((void)zero::find_unit(tower, &Tower::layers, 0),
                       doctest::Contains("layers is an empty optional"),
                       zero::logic_error);
  tower.layers.emplace(1);
  CHECK(zero::find_unit(tower, &Tower::layers, 0) == 0);
  CHECK_THROWS_WITH_AS((void)zero::find_unit(tower, &Tower::layers, 1),
                       doctest::Contains("layers has 1 element."),
                       zero::logic_error);
}

TEST_CASE("a look-up allocates nothing") {
  random_container const container(7);
  auto const& model = container.model;
  auto const before = zero::test::allocations();
  auto sum = zero::find_unit(model, &Everything::first) +
             zero::find_unit(model, &Everything::deep, 1) +
             zero::find_unit(model, &Everything::last) + zero::unit_count(model);
  auto const after = zero::test::allocations();
  CHECK(after == before);
  CHECK(sum > 0);
}
