// SPDX-License-Identifier: Apache-2.0
#include <zero/optim/step_state.hpp>

#include <zero/optim/adamw.hpp>
#include <zero/optim/sgd.hpp>

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

using adamw_state = zero::step_state<zero::AdamW>;
using adamw_config = zero::step_config<zero::AdamW>;

static_assert(std::is_trivially_copyable_v<adamw_state>);
static_assert(std::is_trivially_copyable_v<adamw_config>);
static_assert(std::is_trivially_copyable_v<zero::step_record>);
static_assert(sizeof(zero::rank_record) == 8);
static_assert(noexcept(zero::decide(*static_cast<adamw_state*>(nullptr),
                                    static_cast<zero::rank_record const*>(nullptr),
                                    0,
                                    zero::step_control{},
                                    adamw_config{})));

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double largest = std::numeric_limits<float>::max();

struct steps {
  adamw_config config;
  zero::step_control control{.lr = 0.125};
  adamw_state state = zero::initial_state(config);

  steps() = default;

  explicit steps(zero::loss_scale_options const& scaling) {
    config.scaled = true;
    config.scaling = scaling;
    state = zero::initial_state(config);
  }

  zero::step_record const& step(std::vector<double> const& squares) {
    std::vector<zero::rank_record> records;
    records.reserve(squares.size());
    for (double const s : squares) {
      records.push_back({s});
    }
    zero::decide(state, records.data(), static_cast<int>(records.size()), control, config);
    return state.last;
  }
};

std::array<std::uint32_t, 8> bits_of(zero::AdamW::scalars const& scalars) {
  return std::bit_cast<std::array<std::uint32_t, 8>>(scalars);
}

bool same(adamw_state const& a, adamw_state const& b) {
  bool equal = a.applied_steps == b.applied_steps;
  for (int group = 0; group < zero::max_groups; ++group) {
    equal = equal && bits_of(a.groups[group]) == bits_of(b.groups[group]);
  }
  return equal;
}

}  // namespace

TEST_CASE("the norm is the root of all squares, averaged and unscaled") {
  steps s({.initial = 8});
  s.control.mean = 0.25;
  s.control.gradient_scale = -3;
  double const token_scale = 0.5;
  s.control.device_gradient_scale = &token_scale;
  zero::step_record const& record = s.step({9, 7, 0, 0});
  double const scale = 0.25 * -3 * 0.5 / 8;
  CHECK(record.norm == 4 * std::abs(scale));
  CHECK(s.state.coefficient == static_cast<float>(scale));
  CHECK(record.applied);
  CHECK(record.reason == zero::skip_reason::none);
  CHECK(record.clip_factor == 1);
  CHECK(record.loss_scale == 8);
}

TEST_CASE("squares are added in rank order") {
  // 1 + 2^-53 + 2^-53 in this order stays 1, in the other it does not.
  steps s;
  CHECK(s.step({1, 0x1p-53, 0x1p-53}).norm == 1);
  CHECK(s.step({0x1p-53, 0x1p-53, 1}).norm > 1 - 0x1p-53);
  CHECK(s.step({0x1p-52, 0x1p-52, 1, 0}).norm == std::sqrt(1 + 0x1p-51));
}

TEST_CASE("clipping scales down to the norm, and never up") {
  steps s;
  s.control.clip_norm = 1;
  CHECK(s.step({16}).clip_factor == 1 / (4 + 1e-6));
  CHECK(s.state.coefficient == static_cast<float>(1 / (4 + 1e-6)));
  CHECK(s.state.last.norm == 4);
  CHECK(s.step({0.25}).clip_factor == 1);
  CHECK(s.state.coefficient == 1);
  CHECK(s.step({0}).clip_factor == 1);
  s.control.clip_norm = 0;
  CHECK(s.step({1e12}).clip_factor == 1);
}

TEST_CASE("the coefficient is formed in FP64 and rounded once") {
  steps s;
  s.control.mean = 1.0 / 3;
  s.control.gradient_scale = 1.0 / 7;
  s.control.clip_norm = 0.1;
  s.step({441});
  double const scale = 1.0 / 3 * (1.0 / 7);
  CHECK(s.state.coefficient == static_cast<float>(scale * (0.1 / (21 * scale + 1e-6))));
}

TEST_CASE("a gradient of all zeros is a legal step") {
  steps s;
  zero::step_record const& record = s.step({0, 0});
  CHECK(record.applied);
  CHECK(record.norm == 0);
  CHECK(s.state.applied_steps == 1);
}

TEST_CASE("no rank with elements is a legal step") {
  steps s;
  CHECK(s.step({}).applied);
  CHECK(s.state.last.norm == 0);
}

TEST_CASE("one rank's non-finite gradient skips the step and leaves the optimizer untouched") {
  for (double const bad : {infinity, not_a_number}) {
    steps s;
    s.control.clip_norm = 1;
    s.step({1, 1});
    adamw_state const before = s.state;
    s.control.lr = 7;
    zero::step_record const& record = s.step({1, bad});
    CHECK_FALSE(record.applied);
    CHECK(record.reason == zero::skip_reason::nonfinite_gradient);
    CHECK_FALSE(std::isfinite(record.norm));
    CHECK(record.clip_factor == 1);
    CHECK(record.step == 2);
    CHECK(record.applied_steps == 1);
    CHECK(record.skipped_in_row == 1);
    CHECK_FALSE(s.state.apply);
    CHECK(s.state.coefficient == 0);
    CHECK(same(s.state, before));
    CHECK(s.step({bad, 1}).skipped_in_row == 2);
    CHECK(s.step({1, 1}).applied);
    CHECK(s.state.last.skipped_in_row == 0);
    CHECK(s.state.last.step == 4);
    CHECK(s.state.last.applied_steps == 2);
    CHECK(s.state.applied_steps == 2);
  }
}

TEST_CASE("large finite gradients do not skip") {
  steps s;
  s.control.clip_norm = 1;
  zero::step_record const& record = s.step({1000 * largest * largest, largest * largest});
  CHECK(record.applied);
  CHECK(record.norm == doctest::Approx(std::sqrt(1001.0) * largest));
  CHECK(s.state.coefficient > 0);
}

TEST_CASE("a scale that is not finite, or lifts the gradient out of FP32, skips with its reason") {
  SUBCASE("infinite") {
    steps s;
    s.control.gradient_scale = infinity;
    CHECK(s.step({1}).reason == zero::skip_reason::nonfinite_scale);
    CHECK(s.step({0}).reason == zero::skip_reason::nonfinite_scale);
  }
  SUBCASE("not a number on the device") {
    steps s;
    s.control.device_gradient_scale = &not_a_number;
    s.control.clip_norm = 1;
    CHECK(s.step({1}).reason == zero::skip_reason::nonfinite_scale);
  }
  SUBCASE("beyond FP32 itself") {
    steps s;
    s.control.gradient_scale = 1e60;
    CHECK(s.step({0}).reason == zero::skip_reason::nonfinite_scale);
  }
  SUBCASE("too large for this gradient") {
    steps s;
    s.control.gradient_scale = 4;
    CHECK(s.step({largest * largest / 4}).reason == zero::skip_reason::nonfinite_scale);
    CHECK(s.step({largest * largest / 64}).applied);
  }
  SUBCASE("clipped back into range") {
    steps s;
    s.control.gradient_scale = 4;
    s.control.clip_norm = 1;
    CHECK(s.step({largest * largest / 4}).applied);
  }
  SUBCASE("the loss scale does not take it for an overflow") {
    steps s({.initial = 64, .window = 1, .hysteresis = 1});
    s.control.gradient_scale = infinity;
    s.step({1});
    CHECK(s.state.loss_scale == 64);
    CHECK(s.state.last.skipped_in_row == 1);
  }
}

TEST_CASE("a negative or zero scale is the user's choice") {
  steps s;
  s.control.gradient_scale = 0;
  CHECK(s.step({5}).applied);
  CHECK(s.state.coefficient == 0);
  CHECK(s.state.last.norm == 0);
}

TEST_CASE("the gradient is unscaled with the scale in force, which moves on afterwards") {
  steps s({.initial = 8, .window = 2, .hysteresis = 1, .minimum = 4});
  CHECK(s.state.loss_scale == 8);
  CHECK(s.step({64}).norm == 1);
  CHECK(s.step({64}).norm == 1);  // the window is full: doubles after this step
  CHECK(s.state.last.loss_scale == 8);
  CHECK(s.state.loss_scale == 16);
  CHECK(s.step({64}).norm == 0.5);
  CHECK(s.state.last.loss_scale == 16);
  CHECK(s.step({infinity}).loss_scale == 16);
  CHECK(s.state.loss_scale == 8);
  CHECK_FALSE(s.state.last.at_floor);
  s.step({infinity});
  CHECK(s.state.loss_scale == 4);
  CHECK_FALSE(s.state.last.at_floor);
  s.step({infinity});
  CHECK(s.state.loss_scale == 4);
  CHECK(s.state.last.at_floor);
  s.step({1});
  CHECK_FALSE(s.state.last.at_floor);
}

TEST_CASE("without scaling the loss scale is one for ever") {
  steps s;
  s.step({infinity});
  s.step({1});
  CHECK(s.state.loss_scale == 1);
  CHECK(s.state.last.loss_scale == 1);
  CHECK_FALSE(s.state.last.at_floor);
}

TEST_CASE("a scale that FP32 cannot hold is used as the user's kernels read it") {
  steps s({.dynamic = false, .initial = 1 / 3.0});
  s.step({1});
  CHECK(s.state.last.norm == 1 / static_cast<double>(s.state.loss_scale));
}

TEST_CASE("each group has its own learning rate and weight decay, and the next step count") {
  steps s;
  s.config.group_count = 3;
  s.config.groups[1] = {0.5, 1};
  s.config.groups[2] = {1, 0};
  s.state.applied_steps = 41;
  s.step({1});
  CHECK(s.state.applied_steps == 42);
  zero::AdamW::options const& o = s.config.options;
  auto const is = [&](int group, zero::AdamW::scalars const& expected) {
    return bits_of(s.state.groups[group]) == bits_of(expected);
  };
  CHECK(is(0, zero::AdamW::prepare(o, 0.125, 1, 42)));
  CHECK(is(1, zero::AdamW::prepare(o, 0.0625, 1, 42)));
  CHECK(is(2, zero::AdamW::prepare(o, 0.125, 0, 42)));
  CHECK(is(3, zero::AdamW::scalars{}));
}

TEST_CASE("optimizers without moments decide alike") {
  zero::step_config<zero::PlainSgd> const config;
  zero::step_state<zero::PlainSgd> state = zero::initial_state(config);
  zero::rank_record const record{4};
  zero::decide(state, &record, 1, {.lr = 0.5}, config);
  CHECK(state.last.norm == 2);
  CHECK(state.groups[0].lr == 0.5F);
}
