// SPDX-License-Identifier: Apache-2.0
#include <zero/policy/policy_list.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace {

struct Plain;

struct shape_category {
  using default_policy = Plain;  // declared is enough
};

struct size_category {
  using default_policy = int;
};

struct Round {
  using policy_category = shape_category;
};

struct Square {
  using policy_category = shape_category;
};

struct Large {
  using policy_category = size_category;
};

struct Heap {
  using policy_category = size_category;
  using brings = zero::policy_list<Round>;
};

struct Declared;

using zero::policy_list;
using zero::policy_of_t;

static_assert(std::is_empty_v<policy_list<Round, Large>>);
static_assert(std::is_same_v<policy_of_t<policy_list<Round, Large>, shape_category>, Round>);
static_assert(std::is_same_v<policy_of_t<policy_list<Round, Large>, size_category>, Large>);
static_assert(std::is_same_v<policy_of_t<policy_list<Large, Round>, shape_category>, Round>);
static_assert(std::is_same_v<policy_of_t<policy_list<Square, Round>, shape_category>, Square>);
static_assert(std::is_same_v<policy_of_t<policy_list<Large>, shape_category>, Plain>);
static_assert(std::is_same_v<policy_of_t<policy_list<>, size_category>, int>);
static_assert(std::is_same_v<policy_of_t<policy_list<Heap>, shape_category>, Round>);
static_assert(std::is_same_v<policy_of_t<policy_list<Heap, Square>, shape_category>, Square>);

}  // namespace

TEST_CASE("what is no policy is passed over") {
  using list = policy_list<int, Declared, void, Round const, Square>;
  CHECK(std::is_same_v<policy_of_t<list, shape_category>, Square>);
}
