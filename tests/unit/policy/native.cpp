// SPDX-License-Identifier: Apache-2.0
#include <zero/policy/native.hpp>

#include <zero/policy/accumulate.hpp>
#include <zero/policy/concepts.hpp>
#include <zero/policy/reduction.hpp>

#include <doctest/doctest.h>

static_assert(!zero::policy<zero::Native>, "an argument of policies, and no policy");

TEST_CASE("Native says the same to both policies that take it") {
  CHECK(zero::Accumulate<zero::Native>::native);
  CHECK(zero::Reduction<zero::Native>::native);
}
