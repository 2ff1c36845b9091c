// SPDX-License-Identifier: Apache-2.0
#include <zero/core/rank_order.hpp>

#include <doctest/doctest.h>

using zero::place_among_others;

static_assert(place_among_others(0, 1) == 0);
static_assert(place_among_others(1, 0) == 0);

TEST_CASE("the others' parts lie one behind the other in rank order, without a gap") {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      int next = 0;
      for (int from = 0; from < ranks; ++from) {
        if (from != rank) {
          CHECK(place_among_others(from, rank) == next++);
        }
      }
      CHECK(next == ranks - 1);
    }
  }
}

TEST_CASE("the other ranks come once each, the next one first") {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      int expected = rank;
      int count = 0;
      zero::detail::for_each_other_rank(rank, ranks, [&](int other) {
        expected = expected + 1 == ranks ? 0 : expected + 1;
        CHECK(other == expected);
        ++count;
      });
      CHECK(count == ranks - 1);
    }
  }
}
