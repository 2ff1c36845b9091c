// SPDX-License-Identifier: Apache-2.0
#include <zero/optim/lion.hpp>

#include "tests/laws/optimizer.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <type_traits>

static_assert(zero::optimizer<zero::Lion>);
static_assert(zero::Lion::moments == 1);
static_assert(std::is_empty_v<zero::Lion>);

TEST_CASE("Lion obeys the laws of optimizers") {
  zero::test::check_optimizer_laws<zero::Lion>();
}

TEST_CASE("one step from random states is within a few roundings of FP64") {
  std::mt19937_64 bits(6);
  auto const number = [&] {
    double const fraction = 1 + std::ldexp(static_cast<double>(bits() >> 11U), -53);
    int const exponent = -30 + static_cast<int>(bits() % 34);
    return static_cast<float>(std::ldexp((bits() & 1U) != 0 ? fraction : -fraction, exponent));
  };
  for (zero::Lion::options const& o :
       {zero::Lion::options{}, zero::Lion::options{1e-3, 0.95, 0.98, 0.1}}) {
    for (int i = 0; i < 10'000; ++i) {
      float const w_before = number();
      float const g = number();
      float const m_before = number();
      double const old_part = o.beta1 * m_before;
      double const new_part = (1 - o.beta1) * g;
      double const direction = old_part + new_part;
      if (std::abs(direction) < 0x1p-20 * std::abs(new_part)) {
        continue;  // FP32 may see the other sign
      }
      double const sign = direction > 0 ? 1 : -1;
      double const keep = 1 - o.lr * o.weight_decay;
      double const expected_m = o.beta2 * m_before + (1 - o.beta2) * g;
      float w = w_before;
      float m[1] = {m_before};
      zero::Lion::update(w, g, m, zero::Lion::prepare(o, o.lr, 1, i + 1));
      REQUIRE(std::abs(m[0] - expected_m) <=
              0x1p-21 * (std::abs(o.beta2 * m_before) + std::abs((1 - o.beta2) * g)));
      REQUIRE(std::abs(w - (w_before * keep - o.lr * sign)) <=
              0x1p-21 * (std::abs(w_before * keep) + o.lr));
    }
  }
}

TEST_CASE("the sign of a denormal direction counts, and that of zero does not") {
  zero::Lion::scalars const s = zero::Lion::prepare({.beta1 = 0.5, .beta2 = 0.5}, 0.25, 1, 1);
  for (float const g : {0x1p-148F, -0x1p-148F, 0.0F}) {
    float w = 1;
    float m[1] = {};
    zero::Lion::update(w, g, m, s);
    CHECK(w == (g > 0 ? 0.75F : g < 0 ? 1.25F : 1.0F));
  }
}

TEST_CASE("the direction is taken from the old moment") {
  float w = 0;
  float m[1] = {-1};
  zero::Lion::update(w, 1.0F, m, zero::Lion::prepare({}, 0.5, 1, 1));
  CHECK(w == 0.5F);  // 0.9 * -1 + 0.1 is negative
  CHECK(m[0] == doctest::Approx(-0.98));
}

TEST_CASE("1 - beta is formed in FP64 and rounded once, and weight decay has its factor") {
  zero::Lion::options const options{.weight_decay = 0.5};
  zero::Lion::scalars const s = zero::Lion::prepare(options, 0.5, 1, 1);
  CHECK(s.one_minus_beta2 == static_cast<float>(1 - 0.99));
  CHECK(s.one_minus_beta1 == static_cast<float>(1 - 0.9));
  CHECK(s.keep == 0.75F);
  CHECK(zero::Lion::prepare(options, 0.5, 0, 1).keep == 1.0F);
}
