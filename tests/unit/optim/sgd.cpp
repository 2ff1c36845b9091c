// SPDX-License-Identifier: Apache-2.0
#include <zero/optim/sgd.hpp>

#include "tests/laws/optimizer.hpp"
#include "tests/reference/torch_optimizers.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

static_assert(zero::optimizer<zero::SGD> && zero::optimizer<zero::PlainSGD>);
static_assert(zero::SGD::moments == 1 && zero::PlainSGD::moments == 0);
static_assert(std::is_empty_v<zero::SGD> && std::is_empty_v<zero::PlainSGD>);

TEST_CASE("SGD obeys the laws of optimizers") {
  zero::test::check_optimizer_laws<zero::SGD>();
}

TEST_CASE("PlainSGD obeys the laws of optimizers") {
  zero::test::check_optimizer_laws<zero::PlainSGD>();
}

TEST_CASE("one step agrees with torch.optim.SGD") {
  for (zero::test::sgd_case const& given : zero::test::torch_sgd) {
    CAPTURE(given.step);
    CAPTURE(given.options.momentum);
    zero::SGD::options const& o = given.options;
    zero::SGD::scalars const scalars = zero::SGD::prepare(o, o.lr, 1, given.step);
    for (zero::test::sgd_row const& row : given.rows) {
      // Each result is a sum of two or three terms; a few roundings of the largest.
      double const gradient = std::abs(row.g) + o.weight_decay * std::abs(row.w);
      double const moment = o.momentum * std::abs(row.m) + gradient;
      float w = row.w;
      float m[1] = {row.m};
      zero::SGD::update(w, row.g, m, scalars);
      CHECK(std::abs(static_cast<double>(w) - row.w_after) <=
            0x1p-21 * (std::abs(row.w) + o.lr * (gradient + moment)));
      if (o.momentum != 0) {
        CHECK(std::abs(static_cast<double>(m[0]) - row.m_after) <= 0x1p-21 * moment);
      } else {
        float plain = row.w;
        zero::PlainSGD::update(
            plain,
            row.g,
            nullptr,
            zero::PlainSGD::prepare(
                {.lr = o.lr, .weight_decay = o.weight_decay}, o.lr, 1, given.step));
        CHECK(std::abs(static_cast<double>(plain) - row.w_after) <=
              0x1p-21 * (std::abs(row.w) + o.lr * gradient));
      }
    }
  }
}

TEST_CASE("the first step takes the gradient whole, whatever the dampening") {
  zero::SGD::options const options{.dampening = 0.75};
  CHECK(zero::SGD::prepare(options, 0.1, 1, 1).intake == 1.0F);
  CHECK(zero::SGD::prepare(options, 0.1, 1, 2).intake == 0.25F);
}

TEST_CASE("weight decay joins the gradient, and is left out by its factor") {
  float w = 2;
  float m[1] = {};
  zero::SGD::options const options{.momentum = 0, .weight_decay = 0.5};
  zero::SGD::update(w, 0.0F, m, zero::SGD::prepare(options, 0.5, 1, 1));
  CHECK(w == 1.5F);
  zero::SGD::update(w, 0.0F, m, zero::SGD::prepare(options, 0.5, 0, 2));
  CHECK(w == 1.5F);
  zero::PlainSGD::update(
      w, 1.0F, nullptr, zero::PlainSGD::prepare({.weight_decay = 2}, 0.25, 1, 1));
  CHECK(w == 0.5F);
}

TEST_CASE("nesterov looks one momentum ahead") {
  float w = 0;
  float m[1] = {4};
  zero::SGD::options const options{.momentum = 0.5, .nesterov = true};
  zero::SGD::update(w, 1.0F, m, zero::SGD::prepare(options, 1, 1, 2));
  CHECK(m[0] == 3.0F);
  CHECK(w == -2.5F);
}
