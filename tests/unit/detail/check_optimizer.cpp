// SPDX-License-Identifier: Apache-2.0
#include <zero/detail/check_optimizer.hpp>

#include "tests/support/drift.hpp"
#include "tests/support/text.hpp"

#include <zero/core/error.hpp>
#include <zero/optim/adamw.hpp>
#include <zero/optim/lion.hpp>
#include <zero/optim/sgd.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <string>

namespace {

using zero::test::contains;
using zero::test::Drift;
using zero::test::drift;

/// What the check says of these options.
template <class O>
std::string refusal(typename O::options const& options = {}) {
  try {
    zero::detail::check_optimizer<O>(options);
  } catch (zero::logic_error const& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("the library's own optimizers pass, with a learning rate of 0 too") {
  CHECK(refusal<zero::AdamW>() == std::string());
  CHECK(refusal<zero::Sgd>() == std::string());
  CHECK(refusal<zero::PlainSgd>() == std::string());
  CHECK(refusal<zero::Lion>() == std::string());
  CHECK(refusal<zero::AdamW>({.lr = 0}) == std::string());
  CHECK(refusal<zero::Sgd>({.lr = 0, .weight_decay = 0.1, .nesterov = true}) == std::string());
}

TEST_CASE("options that spoil the first step are refused") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
  for (double const beta : {1.0, 1.5, -0.1, not_a_number}) {
    CHECK(contains(refusal<zero::AdamW>({.beta1 = beta}), "AdamW: beta1 and beta2"));
    CHECK(contains(refusal<zero::AdamW>({.beta2 = beta}), "AdamW: beta1 and beta2"));
    CHECK(contains(refusal<zero::Lion>({.beta1 = beta}), "Lion: beta1 and beta2"));
    CHECK(contains(refusal<zero::Lion>({.beta2 = beta}), "Lion: beta1 and beta2"));
  }
  for (double const decay : {infinity, not_a_number, -1e-3}) {
    CHECK(contains(refusal<zero::AdamW>({.weight_decay = decay}), "AdamW: weight_decay"));
    CHECK(contains(refusal<zero::Lion>({.weight_decay = decay}), "Lion: weight_decay"));
    CHECK(contains(refusal<zero::Sgd>({.weight_decay = decay}), "Sgd: weight_decay"));
    CHECK(contains(refusal<zero::PlainSgd>({.weight_decay = decay}), "PlainSgd: weight_decay"));
  }
  for (double const eps : {0.0, -1e-8, infinity, not_a_number}) {
    CHECK(contains(refusal<zero::AdamW>({.eps = eps}), "AdamW: eps must be above 0"));
  }
  CHECK(contains(refusal<zero::Sgd>({.momentum = -0.1}), "Sgd: momentum"));
  CHECK(contains(refusal<zero::Sgd>({.momentum = 0, .nesterov = true}), "Sgd: nesterov"));
  CHECK(contains(refusal<zero::Sgd>({.dampening = 0.1, .nesterov = true}), "Sgd: nesterov"));
  CHECK(contains(refusal<zero::AdamW>({.lr = 1e39}), "not finite"));
  for (double const lr : {infinity, std::numeric_limits<double>::quiet_NaN(), -1e-9}) {
    CHECK(contains(refusal<zero::AdamW>({.lr = lr}), "must be finite and not negative"));
    CHECK(contains(refusal<zero::PlainSgd>({.lr = lr}), "must be finite and not negative"));
  }
}

TEST_CASE("an optimizer under which zeros do not stay zeros is refused, whenever that shows") {
  for (double const lr : {1e-3, 0.0}) {  // a schedule may begin at 0
    CAPTURE(lr);
    CHECK(contains(refusal<Drift<drift::always>>({lr}), "padding must stay zero"));
    CHECK(contains(refusal<Drift<drift::without_decay>>({lr}), "padding must stay zero"));
    CHECK(contains(refusal<Drift<drift::later>>({lr}), "padding must stay zero"));
    CHECK(contains(refusal<Drift<drift::moment>>({lr}), "padding must stay zero"));
  }
}

}  // namespace
