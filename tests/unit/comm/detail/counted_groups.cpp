// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/detail/counted_groups.hpp>

#include <doctest/doctest.h>

TEST_CASE("a group is open until the outermost one has ended") {
  zero::detail::counted_groups groups;
  CHECK_FALSE(groups.in_group());
  groups.begin_group();
  groups.begin_group();
  groups.end_group();
  CHECK(groups.in_group());
  groups.end_group();
  CHECK_FALSE(groups.in_group());
}
