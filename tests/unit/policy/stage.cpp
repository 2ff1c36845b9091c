// SPDX-License-Identifier: Apache-2.0
#include <zero/policy/stage.hpp>

#include <doctest/doctest.h>

#include <type_traits>

static_assert(zero::policy_of<zero::Stage<0>, zero::stage_category>);
static_assert(zero::policy_of<zero::Stage<1>, zero::stage_category>);
static_assert(zero::policy_of<zero::Stage<2>, zero::stage_category>);
static_assert(zero::policy_of<zero::Stage<3>, zero::stage_category>);

TEST_CASE_TEMPLATE(
    "a stage says its number", S, zero::Stage<0>, zero::Stage<1>, zero::Stage<2>, zero::Stage<3>) {
  CHECK(std::is_same_v<S, zero::Stage<S::value>>);
}
