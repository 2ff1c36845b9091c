// SPDX-License-Identifier: Apache-2.0
#include <zero/model/type_list.hpp>

#include <doctest/doctest.h>

static_assert(zero::type_list<>::size == 0);
static_assert(zero::type_list<int, int>::size == 2);

TEST_CASE("a list of types takes no room") {
  struct Derived : zero::type_list<int, float> {
    char c = 0;
  };

  CHECK(sizeof(Derived) == 1);
}
