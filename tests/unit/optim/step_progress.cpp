// SPDX-License-Identifier: Apache-2.0
#include <zero/optim/step_progress.hpp>

#include <zero/core/error.hpp>
#include <zero/optim/adamw.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <type_traits>

static_assert(std::is_trivially_copyable_v<zero::step_progress>);

namespace {

zero::step_state<zero::AdamW> some_state() {
  zero::step_state<zero::AdamW> state;
  state.applied_steps = 5;
  state.last.step = 8;
  state.last.applied_steps = 5;
  state.last.skipped_in_row = 2;
  state.scaling = {.scale = 64, .good_steps = 3, .hysteresis = 2};
  state.loss_scale = 64;
  return state;
}

}  // namespace

TEST_CASE("a progress that is taken and put back changes nothing") {
  auto const state = some_state();
  auto const progress = zero::progress_of(state);
  zero::step_state<zero::AdamW> other;
  zero::set_progress(other, progress, true);
  CHECK(zero::progress_of(other) == progress);
  CHECK(other.loss_scale == 64);
  CHECK(other.last.applied_steps == 5);
}

TEST_CASE("without loss scaling the scale stays 1") {
  zero::step_state<zero::AdamW> other;
  zero::set_progress(other, zero::progress_of(some_state()), false);
  CHECK(other.loss_scale == 1);
  CHECK(other.scaling == zero::loss_scale_state{});
  CHECK(other.applied_steps == 5);
}

TEST_CASE("counters that contradict each other are refused") {
  auto const check = [](std::int64_t steps, std::int64_t applied, std::int64_t skipped) {
    zero::check(zero::step_progress{steps, applied, skipped, {}});
  };
  CHECK_NOTHROW(check(0, 0, 0));
  CHECK_NOTHROW(check(8, 5, 3));
  CHECK_THROWS_AS(check(8, 6, 3), zero::logic_error);
  CHECK_THROWS_AS(check(-1, -1, 0), zero::logic_error);
  CHECK_THROWS_AS(check(1, 0, -1), zero::logic_error);
  CHECK_THROWS_AS(check(std::numeric_limits<std::int64_t>::min(), 0, 1), zero::logic_error);
  CHECK_THROWS_AS(check(std::numeric_limits<std::int64_t>::max(), 0, -1), zero::logic_error);
}

TEST_CASE("a loss scale that no training can go on with is refused") {
  auto const check = [](zero::loss_scale_state const& scaling) {
    zero::check(zero::step_progress{1, 1, 0, scaling});
  };
  CHECK_NOTHROW(check({65536, 7, 2}));
  CHECK_NOTHROW(check({0.5, 0, 1}));
  for (double const scale : {0.0,
                             -4.0,
                             1e300,
                             std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()}) {
    CHECK_THROWS_AS(check({scale, 0, 1}), zero::logic_error);
  }
  CHECK_THROWS_AS(check({1, -1, 1}), zero::logic_error);
  CHECK_THROWS_AS(check({1, 0, 0}), zero::logic_error);
}
