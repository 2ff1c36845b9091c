// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/config.hpp>

#include <doctest/doctest.h>

static_assert(zero::accumulator_bytes({}, zero::dtype::bf16) == 4);
static_assert(zero::accumulator_bytes({.native_accumulate = true}, zero::dtype::bf16) == 2);
static_assert(zero::accumulator_bytes({.native_accumulate = true}, zero::dtype::fp32) == 4);
static_assert(zero::state_bytes({.moments = 2}, zero::dtype::bf16) == 12);
static_assert(zero::state_bytes({.moments = 2}, zero::dtype::fp32) == 8);
static_assert(zero::state_bytes({.moments = 1}, zero::dtype::fp16) == 8);
static_assert(zero::state_bytes({.moments = 0}, zero::dtype::fp32) == 0);

TEST_CASE("configurations are values that compare") {
  zero::plan_config const a{.world = 4, .stage = 2};
  zero::plan_config b = a;
  CHECK(a == b);
  b.piece_bytes /= 2;
  CHECK_FALSE(a == b);
}
