// SPDX-License-Identifier: Apache-2.0
#include <zero/optim/adamw.hpp>

#include "tests/laws/optimizer.hpp"
#include "tests/reference/torch_optimizers.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>

static_assert(zero::optimizer<zero::AdamW>);
static_assert(zero::AdamW::moments == 2);
static_assert(std::is_empty_v<zero::AdamW>);
static_assert(zero::AdamW::options{}.lr == 1e-3 && zero::AdamW::options{}.weight_decay == 1e-2);

namespace {

struct element {
  double w, g, m, v;
};

// The step in FP64, written from the formulas with the powers by the library's pow, and how far
// FP32 may be from it: the bounds that AdamW states.
struct expectation {
  double w, m, v;
  double w_bound, m_bound, v_bound;

  expectation(
      element const& e, zero::AdamW::options const& o, double lr, double decay, std::int64_t t) {
    double const first = (1 - o.beta1) * e.g;
    double const second = (1 - o.beta2) * e.g * e.g;
    m = o.beta1 * e.m + first;
    v = o.beta2 * e.v + second;
    double const step = lr / (1 - std::pow(o.beta1, t));
    double const denominator = std::sqrt(v) / std::sqrt(1 - std::pow(o.beta2, t)) + o.eps;
    double const keep = 1 - lr * decay;
    w = e.w * keep - step * m / denominator;
    m_bound = 0x1p-21 * (o.beta1 * std::abs(e.m) + std::abs(first));
    v_bound = 0x1p-21 * (o.beta2 * e.v + second);
    w_bound = 0x1p-20 * (std::abs(e.w * keep) +
                         step * (o.beta1 * std::abs(e.m) + std::abs(first)) / denominator);
  }
};

}  // namespace

TEST_CASE("AdamW obeys the laws of optimizers") {
  zero::test::check_optimizer_laws<zero::AdamW>();
}

TEST_CASE("one step agrees with torch.optim.AdamW") {
  for (zero::test::adamw_case const& given : zero::test::torch_adamw) {
    CAPTURE(given.step);
    zero::AdamW::scalars const scalars =
        zero::AdamW::prepare(given.options, given.options.lr, 1, given.step);
    for (zero::test::adamw_row const& row : given.rows) {
      expectation const bound({row.w, row.g, row.m, row.v},
                              given.options,
                              given.options.lr,
                              given.options.weight_decay,
                              given.step);
      float w = row.w;
      float m[2] = {row.m, row.v};
      zero::AdamW::update(w, row.g, m, scalars);
      CHECK(std::abs(static_cast<double>(m[0]) - row.m_after) <= bound.m_bound);
      CHECK(std::abs(static_cast<double>(m[1]) - row.v_after) <= bound.v_bound);
      CHECK(std::abs(static_cast<double>(w) - row.w_after) <= bound.w_bound);
    }
  }
}

TEST_CASE("one step from random states is within the stated bounds of FP64") {
  std::mt19937_64 bits(5);
  auto const number = [&](int smallest, int range) {
    double const fraction = 1 + std::ldexp(static_cast<double>(bits() >> 11U), -53);
    int const exponent = smallest + static_cast<int>(bits() % static_cast<unsigned>(range));
    return static_cast<float>(std::ldexp((bits() & 1U) != 0 ? fraction : -fraction, exponent));
  };
  zero::AdamW::options const all_options[] = {
      {}, {1e-3, 0.9, 0.95, 1e-8, 0.1}, {1e-2, 0.5, 0.9999, 1e-6, 0}, {1, 0, 0.5, 1e-15, 0.5}};
  for (zero::AdamW::options const& options : all_options) {
    for (std::int64_t const t : {1, 2, 5, 100, 54'321}) {
      for (double const decay_factor : {1.0, 0.0}) {
        zero::AdamW::scalars const scalars =
            zero::AdamW::prepare(options, options.lr, decay_factor, t);
        for (int i = 0; i < 2000; ++i) {
          element const e{
              number(-30, 34), number(-30, 34), number(-30, 34), std::abs(number(-60, 60))};
          expectation const expected(
              e, options, options.lr, options.weight_decay * decay_factor, t);
          auto w = static_cast<float>(e.w);
          float m[2] = {static_cast<float>(e.m), static_cast<float>(e.v)};
          zero::AdamW::update(w, static_cast<float>(e.g), m, scalars);
          REQUIRE(std::abs(m[0] - expected.m) <= expected.m_bound);
          REQUIRE(std::abs(m[1] - expected.v) <= expected.v_bound);
          REQUIRE(std::abs(w - expected.w) <= expected.w_bound);
        }
      }
    }
  }
}

TEST_CASE("1 - beta is formed in FP64 and rounded once") {
  zero::AdamW::scalars const s = zero::AdamW::prepare({}, 1e-3, 1, 1);
  CHECK(s.one_minus_beta2 == static_cast<float>(1 - 0.999));
  CHECK(s.one_minus_beta2 != 1 - 0.999F);
  CHECK(s.one_minus_beta1 == static_cast<float>(1 - 0.9));
}

TEST_CASE("the first step is as long as the learning rate, whatever the gradient's size") {
  for (float const g : {1e-6F, 1.0F, 1e6F, -3.0F}) {
    float w = 0;
    float m[2] = {};
    zero::AdamW::update(w, g, m, zero::AdamW::prepare({.eps = 1e-12}, 0.5, 1, 1));
    CHECK(w == doctest::Approx(g > 0 ? -0.5 : 0.5).epsilon(1e-5));
  }
}

TEST_CASE("weight decay is left out by its factor alone") {
  zero::AdamW::options const options{.weight_decay = 0.25};
  CHECK(zero::AdamW::prepare(options, 0.5, 1, 1).keep == 0.875F);
  CHECK(zero::AdamW::prepare(options, 0.5, 0, 1).keep == 1.0F);
}

TEST_CASE("corrections vanish when the step count is large, and none is divided by zero") {
  zero::AdamW::scalars const s =
      zero::AdamW::prepare({}, 1e-3, 1, std::numeric_limits<std::int64_t>::max());
  CHECK(s.step == 1e-3F);
  CHECK(s.inverse_correction == 1.0F);
  zero::AdamW::scalars const none = zero::AdamW::prepare({.beta1 = 0, .beta2 = 0}, 1e-3, 1, 1);
  CHECK(none.step == 1e-3F);
  CHECK(none.inverse_correction == 1.0F);
}

TEST_CASE("a gradient whose square overflows FP32 gives no NaN") {
  float w = 1;
  float m[2] = {};
  zero::AdamW::update(w, 1e30F, m, zero::AdamW::prepare({}, 1e-3, 1, 1));
  CHECK(std::isinf(m[1]));
  CHECK(std::isfinite(m[0]));
  CHECK(std::isfinite(w));
}
