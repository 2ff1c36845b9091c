// SPDX-License-Identifier: Apache-2.0
#include <zero/policy/stage.hpp>

#include <doctest/doctest.h>

static_assert(zero::policy_of<zero::Stage<0>, zero::stage_category>);
static_assert(zero::policy_of<zero::Stage<1>, zero::stage_category>);
static_assert(zero::policy_of<zero::Stage<2>, zero::stage_category>);
static_assert(zero::policy_of<zero::Stage<3>, zero::stage_category>);

TEST_CASE_TEMPLATE("each stage shards one thing more than the stage before",
                   S,
                   zero::Stage<0>,
                   zero::Stage<1>,
                   zero::Stage<2>,
                   zero::Stage<3>) {
  int const sharded = static_cast<int>(S::shards_optimizer_state) +
                      static_cast<int>(S::shards_gradients) +
                      static_cast<int>(S::shards_parameters);
  CHECK(sharded == S::value);
}

TEST_CASE("the order is optimizer state, gradients, parameters") {
  CHECK(zero::Stage<1>::shards_optimizer_state);
  CHECK(zero::Stage<2>::shards_gradients);
  CHECK_FALSE(zero::Stage<2>::shards_parameters);
}
