// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/schedule_options.hpp>

#include <zero/optim/adamw.hpp>
#include <zero/options.hpp>
#include <zero/plan/config.hpp>

#include <doctest/doctest.h>

#include <type_traits>

static_assert(std::is_aggregate_v<zero::schedule_options>);
static_assert(zero::schedule_options{}.prefetch_units == 1);

TEST_CASE("options of an engine and configurations of a plan hold the same settings") {
  zero::schedule_options const settings{.prefetch_units = 3, .piece_bytes = 77};
  zero::engine_options<zero::AdamW> const options{.schedule = settings};
  zero::plan_config const config{.schedule = options.schedule};
  CHECK(config.schedule == settings);
  CHECK_FALSE(config.schedule == zero::schedule_options{});
}
