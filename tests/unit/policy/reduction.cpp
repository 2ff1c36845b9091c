// SPDX-License-Identifier: Apache-2.0
#include <zero/policy/reduction.hpp>

#include <doctest/doctest.h>

static_assert(zero::policy_of<zero::Reduction<zero::Ordered>, zero::reduction_category>);
static_assert(zero::policy_of<zero::Reduction<zero::Native>, zero::reduction_category>);
static_assert(!zero::policy<zero::Ordered>, "an argument of policies, and no policy");

TEST_CASE("only Reduction<Native> leaves the sum to the communicator") {
  CHECK_FALSE(zero::Reduction<zero::Ordered>::native);
  CHECK(zero::Reduction<zero::Native>::native);
}
