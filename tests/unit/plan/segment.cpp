// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/segment.hpp>

#include "random_plan.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <random>

TEST_CASE("the points of a segment hold all of its operations, in order") {
  std::mt19937 random(31);
  for (int round = 0; round < 100; ++round) {
    auto const plan = zero::test::draw_case(random).plan();
    for (auto const& pass : plan.passes) {
      auto const* next = pass.operations.data();
      for (std::size_t point = 0; point + 1 < pass.starts.size(); ++point) {
        CHECK(pass.at(point).data() == next);
        next += pass.at(point).size();
      }
      CHECK(next == pass.operations.data() + pass.operations.size());
    }
  }
}

TEST_CASE("a training pass is the forward tokens and then the backward ones") {
  std::mt19937 random(32);
  auto const c = zero::test::draw_case(random);
  auto const all = zero::tokens_of(c.program, true);
  CHECK(zero::tokens_of(c.program, false).size() == c.program.forward.size());
  CHECK(all.size() == c.program.forward.size() + c.program.backward.size());
}
