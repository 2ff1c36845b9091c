// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/pass_kind.hpp>

#include <doctest/doctest.h>

#include <string>

static_assert([] {
  for (int i = 0; i < zero::pass_kinds; ++i) {
    if (zero::index_of(zero::pass_at(i)) != i) {
      return false;
    }
  }
  return true;
}());

TEST_CASE("every kind of pass has a name, which fresh ones share") {
  for (int i = 0; i < zero::pass_kinds; i += 2) {
    CHECK(std::string(name(zero::pass_at(i))) == name(zero::pass_at(i + 1)));
    for (int k = 0; k < i; k += 2) {
      CHECK(std::string(name(zero::pass_at(i))) != name(zero::pass_at(k)));
    }
  }
}
