// SPDX-License-Identifier: Apache-2.0
#include <zero/model/traverse.hpp>

#include "random_container.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using zero::Tensor;
using zero::type_list;

struct Pair {
  BOOST_HANA_DEFINE_STRUCT(Pair, (Tensor<float>, left), (Tensor<zero::bf16, 2>, right));
};

static_assert(zero::detail::is_tensor_v<Tensor<float>>);
static_assert(zero::detail::is_tensor_v<Tensor<zero::fp16, 2, 3>>);
static_assert(!zero::detail::is_tensor_v<Pair>);

static_assert(zero::detail::is_struct_v<Pair>);
static_assert(!zero::detail::is_struct_v<Tensor<float>>);
static_assert(!zero::detail::is_struct_v<std::array<Pair, 2>>);

static_assert(zero::detail::is_optional_v<std::optional<Pair>>);
static_assert(!zero::detail::is_optional_v<Pair>);

static_assert(zero::detail::is_sequence_v<Pair[2]>);
static_assert(zero::detail::is_sequence_v<std::array<Pair, 2>>);
static_assert(zero::detail::is_sequence_v<std::vector<Pair>>);
static_assert(!zero::detail::is_sequence_v<std::optional<Pair>>);
static_assert(!zero::detail::is_sequence_v<std::string>);

static_assert(std::is_same_v<zero::detail::member_types_of<Pair>,
                             type_list<Tensor<float>, Tensor<zero::bf16, 2>>>);
static_assert(
    std::is_same_v<zero::detail::member_types_of<Pair const>, zero::detail::member_types_of<Pair>>);

// A struct that keeps its members to itself, and gives access by functions.
class Hidden {
 public:
  [[nodiscard]] auto& weight() { return weight_; }

  [[nodiscard]] auto const& weight() const { return weight_; }

 private:
  Tensor<float, 5> weight_;
};

}  // namespace

BOOST_HANA_ADAPT_ADT(Hidden, (w, [](auto& hidden) -> auto& { return hidden.weight(); }));

TEST_CASE("members come in order of declaration, with their names") {
  Pair pair;
  std::vector<std::string> names;
  std::vector<void const*> addresses;
  zero::detail::members_of<Pair>::for_each_named(pair, [&](char const* name, auto& member) {
    names.emplace_back(name);
    addresses.push_back(&member);
  });
  CHECK(names == std::vector<std::string>{"left", "right"});
  CHECK(addresses == std::vector<void const*>{&pair.left, &pair.right});
}

TEST_CASE("a struct adapted by functions is walked through them") {
  Hidden hidden;
  zero::detail::tensor_base* found = nullptr;
  auto see = [&found](auto& tensor) { found = &tensor; };
  zero::detail::for_each_tensor(hidden, see);
  CHECK(found == &hidden.weight());
}

TEST_CASE("a walk visits each tensor once, in the order it was written down") {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    zero::test::random_container const container(seed);
    std::vector<zero::detail::tensor_base const*> visited;
    auto see = [&visited](auto const& tensor) { visited.push_back(&tensor); };
    zero::detail::for_each_tensor(container.model, see);
    std::vector<zero::detail::tensor_base const*> noted;
    for (auto const& tensor : container.take_notes().tensors) {
      noted.push_back(tensor.address);
    }
    CHECK(visited == noted);
  }
}
