// SPDX-License-Identifier: Apache-2.0
#include <zero/policy/offload.hpp>

#include <doctest/doctest.h>

#include <type_traits>

static_assert(zero::policy_of<zero::Offload<zero::None>, zero::offload_category>);
static_assert(!zero::policy<zero::None>, "an argument of policies, and no policy");

TEST_CASE("the tier of Offload<None> is None") {
  CHECK(std::is_same_v<zero::Offload<zero::None>::tier, zero::None>);
}
