// SPDX-License-Identifier: Apache-2.0
#include <zero/optim/sgd.hpp>

#include "tests/laws/optimizer.hpp"
#include "tests/reference/torch_optimizers.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

static_assert(zero::optimizer<zero::Sgd> && zero::optimizer<zero::PlainSgd>);
static_assert(zero::Sgd::moments == 1 && zero::PlainSgd::moments == 0);
static_assert(std::is_empty_v<zero::Sgd> && std::is_empty_v<zero::PlainSgd>);

TEST_CASE("Sgd obeys the laws of optimizers") {
  zero::test::check_optimizer_laws<zero::Sgd>();
}

TEST_CASE("PlainSgd obeys the laws of optimizers") {
  zero::test::check_optimizer_laws<zero::PlainSgd>();
}

TEST_CASE("one step agrees with torch.optim.SGD") {
  for (zero::test::sgd_case const& given : zero::test::torch_sgd) {
    CAPTURE(given.step);
    CAPTURE(given.options.momentum);
    zero::Sgd::options const& o = given.options;
    zero::Sgd::scalars const scalars = zero::Sgd::prepare(o, o.lr, 1, given.step);
    for (zero::test::sgd_row const& row : given.rows) {
      // Each result is a sum of two or three terms; a few roundings of the largest.
      double const gradient = std::abs(row.g) + o.weight_decay * std::abs(row.w);
      double const moment = o.momentum * std::abs(row.m) + gradient;
      float w = row.w;
      float m[1] = {row.m};
      zero::Sgd::update(w, row.g, m, scalars);
      CHECK(std::abs(static_cast<double>(w) - row.w_after) <=
            0x1p-21 * (std::abs(row.w) + o.lr * (gradient + moment)));
      if (o.momentum != 0) {
        CHECK(std::abs(static_cast<double>(m[0]) - row.m_after) <= 0x1p-21 * moment);
      } else {
        float plain = row.w;
        zero::PlainSgd::update(
            plain,
            row.g,
            nullptr,
            zero::PlainSgd::prepare(
                {.lr = o.lr, .weight_decay = o.weight_decay}, o.lr, 1, given.step));
        CHECK(std::abs(static_cast<double>(plain) - row.w_after) <=
              0x1p-21 * (std::abs(row.w) + o.lr * gradient));
      }
    }
  }
}

TEST_CASE("the first step takes the gradient whole, whatever the dampening") {
  zero::Sgd::options const options{.dampening = 0.75};
  CHECK(zero::Sgd::prepare(options, 0.1, 1, 1).intake == 1.0F);
  CHECK(zero::Sgd::prepare(options, 0.1, 1, 2).intake == 0.25F);
}

TEST_CASE("weight decay joins the gradient, and is left out by its factor") {
  float w = 2;
  float m[1] = {};
  zero::Sgd::options const options{.momentum = 0, .weight_decay = 0.5};
  zero::Sgd::update(w, 0.0F, m, zero::Sgd::prepare(options, 0.5, 1, 1));
  CHECK(w == 1.5F);
  zero::Sgd::update(w, 0.0F, m, zero::Sgd::prepare(options, 0.5, 0, 2));
  CHECK(w == 1.5F);
  zero::PlainSgd::update(
      w, 1.0F, nullptr, zero::PlainSgd::prepare({.weight_decay = 2}, 0.25, 1, 1));
  CHECK(w == 0.5F);
}

TEST_CASE("nesterov looks one momentum ahead") {
  float w = 0;
  float m[1] = {4};
  zero::Sgd::options const options{.momentum = 0.5, .nesterov = true};
  zero::Sgd::update(w, 1.0F, m, zero::Sgd::prepare(options, 1, 1, 2));
  CHECK(m[0] == 3.0F);
  CHECK(w == -2.5F);
}
