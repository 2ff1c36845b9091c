// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/config.hpp>

#include <doctest/doctest.h>

static_assert(zero::accumulator_bytes({}, zero::dtype::bf16) == 4);
static_assert(zero::accumulator_bytes({.native_accumulate = true}, zero::dtype::bf16) == 2);
static_assert(zero::accumulator_bytes({.native_accumulate = true}, zero::dtype::fp32) == 4);
static_assert(zero::state_layout_of({.moments = 2}, zero::dtype::bf16).bytes(1) == 12);
static_assert(zero::state_layout_of({.moments = 2}, zero::dtype::fp32).bytes(1) == 8);
static_assert(zero::state_layout_of({.moments = 1}, zero::dtype::fp16).bytes(1) == 8);
static_assert(zero::state_layout_of({.moments = 0}, zero::dtype::fp32).bytes(1) == 0);
static_assert(zero::plan_config{.stage = 3}.stage_of(7) == 3);
static_assert(zero::plan_config{.stage = 3, .unit_stages = {-1, 2}}.stage_of(0) == 3);
static_assert(zero::plan_config{.stage = 3, .unit_stages = {-1, 2}}.stage_of(1) == 2);
static_assert(zero::plan_config{.stage = 3, .unit_stages = {-1, 2}}.stage_of(2) == 3);

TEST_CASE("configurations are values that compare") {
  zero::plan_config const a{.world = 4, .stage = 2};
  zero::plan_config b = a;
  CHECK(a == b);
  b.schedule.piece_bytes /= 2;
  CHECK_FALSE(a == b);
}
