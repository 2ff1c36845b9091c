// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/placement.hpp>

#include <zero/core/error.hpp>

#include <doctest/doctest.h>

#include <string>

using zero::group;
using zero::place_unit;
using zero::tier;

static_assert(!zero::placement{}.sharded());
static_assert(place_unit(0, false, 8) == zero::unit_placement{});
static_assert(place_unit(1, false, 8).state.over == group::world);
static_assert(!place_unit(1, false, 8).gradients.sharded());
static_assert(place_unit(2, false, 8).gradients.over == group::world);
static_assert(!place_unit(2, false, 8).parameters.sharded());
static_assert(place_unit(3, false, 8).parameters.over == group::world);
static_assert(zero::size_of(group::none, 8) == 1 && zero::size_of(group::world, 8) == 8);

TEST_CASE("a higher stage shares out all that a lower one does; alone nothing is shared") {
  for (bool const resident : {false, true}) {
    for (int stage = 0; stage <= 3; ++stage) {
      auto const alone = place_unit(stage, resident, 1);
      CHECK(alone == zero::unit_placement{});
      auto const p = place_unit(stage, resident, 2);
      CHECK(p.state.sharded() >= p.gradients.sharded());
      CHECK(p.gradients.sharded() >= p.parameters.sharded());
      CHECK(p.parameters.sharded() == (stage == 3 && !resident));
    }
  }
}

TEST_CASE("what is not planned yet is refused with a sentence") {
  CHECK_NOTHROW(zero::expect_planned({group::world, tier::device}));
  CHECK_NOTHROW(zero::expect_planned({group::none, tier::device}));
  for (auto const over : {group::node, group::across}) {
    CHECK_THROWS_WITH_AS(zero::expect_planned({over, tier::device}),
                         "zero::plan: parts are shared out over all ranks or not at all; use "
                         "group::none or group::world",
                         zero::logic_error);
  }
  for (auto const in : {tier::host, tier::disk, tier::user}) {
    CHECK_THROWS_WITH_AS(zero::expect_planned({group::none, in}),
                         "zero::plan: this version keeps everything in the memory of the device; "
                         "use tier::device",
                         zero::logic_error);
  }
}

TEST_CASE("every tier has a name") {
  for (int t = 0; t < zero::tier_count; ++t) {
    CHECK(std::string(name(static_cast<tier>(t))) != "");
  }
}
