// SPDX-License-Identifier: Apache-2.0
#include <zero/optim/loss_scale.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

static_assert(std::is_trivially_copyable_v<zero::loss_scale_options>);
static_assert(std::is_trivially_copyable_v<zero::loss_scale_state>);
static_assert(zero::loss_scale_options{}.maximum == 0x1p32);
static_assert(zero::initial_state(zero::loss_scale_options{}).scale == 65536);
static_assert(zero::initial_state(zero::loss_scale_options{.hysteresis = 3}).hysteresis == 3);
static_assert((zero::check(zero::loss_scale_options{}), true));

namespace {

// The scales after each step of a history: 'g' a good step, 'o' an overflow.
std::vector<double> scales(zero::loss_scale_options const& options, std::string const& history) {
  zero::loss_scale_state state = zero::initial_state(options);
  std::vector<double> result;
  for (char const step : history) {
    zero::update(state, options, step == 'o');
    result.push_back(state.scale);
  }
  return result;
}

using list = std::vector<double>;

// Megatron-LM's DynamicGradScaler in its own words: counters that run below zero.
struct megatron {
  double scale, minimum;
  int interval, hysteresis;
  int growth_tracker = 0;
  int hysteresis_tracker = hysteresis;

  void update(bool found_inf) {
    if (found_inf) {
      growth_tracker = 0;
      hysteresis_tracker -= 1;
      if (hysteresis_tracker <= 0) {
        scale = std::max(scale * 0.5, minimum);
      }
    } else {
      growth_tracker += 1;
      if (growth_tracker == interval) {
        growth_tracker = 0;
        hysteresis_tracker = hysteresis;
        scale = scale * 2;
      }
    }
  }
};

// DeepSpeed's DynamicLossScaler with consecutive hysteresis in its own words. Its first doubling
// after a start or an overflow comes one step later, so good steps before that are not compared.
struct deepspeed {
  double scale, minimum;
  int hysteresis;
  int left = hysteresis;

  void update(bool overflow) {
    if (overflow) {
      if (hysteresis == 1 || left == 1) {
        scale = std::max(scale / 2, minimum);
      } else {
        left -= 1;
      }
    } else {
      left = hysteresis;
    }
  }
};

}  // namespace

TEST_CASE("the scale doubles on the window-th good step in a row") {
  zero::loss_scale_options const o{.initial = 8, .window = 3, .hysteresis = 1};
  CHECK(scales(o, "ggggggg") == list{8, 8, 16, 16, 16, 32, 32});
  CHECK(scales(o, "ggoggg") == list{8, 8, 4, 4, 4, 8});
}

TEST_CASE("a window of one doubles on each good step, up to the ceiling") {
  zero::loss_scale_options const o{.initial = 8, .window = 1, .hysteresis = 1, .maximum = 24};
  CHECK(scales(o, "gggo") == list{16, 24, 24, 12});
}

TEST_CASE("without hysteresis each overflow halves, down to the floor") {
  zero::loss_scale_options const o{.initial = 8, .window = 2, .hysteresis = 1, .minimum = 3};
  CHECK(scales(o, "oooo") == list{4, 3, 3, 3});
}

TEST_CASE("hysteresis forgives once, and then no more until a doubling") {
  zero::loss_scale_options const o{.initial = 64, .window = 2, .hysteresis = 2};
  CHECK(scales(o, "ogogo") == list{64, 64, 32, 32, 16});
  CHECK(scales(o, "oggoo") == list{64, 64, 128, 128, 64});
}

TEST_CASE("consecutive hysteresis forgives again after each good step") {
  zero::loss_scale_options const o{
      .initial = 64, .window = 100, .hysteresis = 2, .consecutive_hysteresis = true};
  CHECK(scales(o, "ogogo") == list{64, 64, 64, 64, 64});
  CHECK(scales(o, "oogoo") == list{64, 32, 32, 32, 16});
  CHECK(scales(o, "ooo") == list{64, 32, 16});
}

TEST_CASE("hysteresis is refilled at the ceiling, too") {
  zero::loss_scale_options const o{.initial = 8, .window = 2, .hysteresis = 2, .maximum = 8};
  CHECK(scales(o, "oggoo") == list{8, 8, 8, 8, 4});
}

TEST_CASE("a static scale never moves") {
  zero::loss_scale_options const o{.dynamic = false, .initial = 128, .window = 1, .hysteresis = 1};
  CHECK(scales(o, "gogooog") == list(7, 128));
  zero::loss_scale_state state = zero::initial_state(o);
  CHECK_FALSE(zero::update(state, o, true));
}

TEST_CASE("an overflow that is not forgiven at the floor is told, and nothing else is") {
  zero::loss_scale_options const o{.initial = 2, .window = 1, .hysteresis = 2, .minimum = 1};
  zero::loss_scale_state state = zero::initial_state(o);
  CHECK_FALSE(zero::update(state, o, true));  // forgiven
  CHECK_FALSE(zero::update(state, o, true));  // 2 -> 1
  CHECK(zero::update(state, o, true));        // at the floor
  CHECK(state.scale == 1);
  CHECK(zero::update(state, o, true));
  CHECK_FALSE(zero::update(state, o, false));
  CHECK(state.scale == 2);
  CHECK_FALSE(zero::update(state, o, true));  // refilled by the doubling
}

TEST_CASE("what happens at the floor does not change the scale") {
  zero::loss_scale_options const stay{.initial = 2, .window = 3, .hysteresis = 1};
  zero::loss_scale_options raise = stay;
  raise.at_floor = zero::at_floor::raise;
  CHECK(scales(stay, "oogooggg") == scales(raise, "oogooggg"));
}

TEST_CASE("random histories agree with Megatron-LM") {
  std::mt19937_64 bits(3);
  for (int hysteresis = 1; hysteresis <= 4; ++hysteresis) {
    for (int window = 1; window <= 5; ++window) {
      zero::loss_scale_options const o{
          .initial = 0x1p20, .window = window, .hysteresis = hysteresis};
      zero::loss_scale_state state = zero::initial_state(o);
      megatron reference{0x1p20, 1, window, hysteresis};
      for (int step = 0; step < 300; ++step) {
        bool const overflow = bits() % 3 == 0 || reference.scale >= 0x1p31;
        reference.update(overflow);
        zero::update(state, o, overflow);
        REQUIRE(state.scale == reference.scale);
      }
    }
  }
}

TEST_CASE("random histories without doublings agree with DeepSpeed's consecutive hysteresis") {
  std::mt19937_64 bits(4);
  for (int hysteresis = 1; hysteresis <= 4; ++hysteresis) {
    zero::loss_scale_options const o{.initial = 0x1p30,
                                     .window = 1000,
                                     .hysteresis = hysteresis,
                                     .consecutive_hysteresis = true};
    zero::loss_scale_state state = zero::initial_state(o);
    deepspeed reference{0x1p30, 1, hysteresis};
    for (int step = 0; step < 200; ++step) {
      bool const overflow = bits() % 2 == 0;
      reference.update(overflow);
      zero::update(state, o, overflow);
      REQUIRE(state.scale == reference.scale);
    }
  }
}

TEST_CASE("options that make no sense are refused with a sentence") {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  double const infinity = std::numeric_limits<double>::infinity();
  for (double const initial : {0.0, -1.0, nan, infinity, 0x1p200}) {
    CHECK_THROWS_WITH_AS(
        zero::check(zero::loss_scale_options{.dynamic = false, .initial = initial}),
        "zero::loss_scale_options: initial must be above 0 and within the range of FP32.",
        zero::logic_error);
  }
  CHECK_THROWS_AS(zero::check(zero::loss_scale_options{.window = 0}), zero::logic_error);
  CHECK_THROWS_AS(zero::check(zero::loss_scale_options{.hysteresis = 0}), zero::logic_error);
  CHECK_THROWS_AS(zero::check(zero::loss_scale_options{.minimum = 0}), zero::logic_error);
  CHECK_THROWS_AS(zero::check(zero::loss_scale_options{.minimum = nan}), zero::logic_error);
  CHECK_THROWS_AS(zero::check(zero::loss_scale_options{.maximum = infinity}), zero::logic_error);
  CHECK_THROWS_AS(zero::check(zero::loss_scale_options{.initial = 4, .minimum = 8}),
                  zero::logic_error);
  CHECK_THROWS_AS(zero::check(zero::loss_scale_options{.initial = 4, .maximum = 2}),
                  zero::logic_error);
  CHECK_NOTHROW(zero::check(zero::loss_scale_options{.dynamic = false, .window = 0}));
}
