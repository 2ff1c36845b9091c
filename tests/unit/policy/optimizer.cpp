// SPDX-License-Identifier: Apache-2.0
#include <zero/policy/optimizer.hpp>

#include <zero/optim/adamw.hpp>
#include <zero/optim/lion.hpp>
#include <zero/optim/sgd.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace {

using zero::optimizer_category;

struct WithoutUpdate {
  using policy_category = optimizer_category;
};

static_assert(std::is_empty_v<optimizer_category>);
static_assert(std::is_same_v<optimizer_category::default_policy, zero::AdamW>);

}  // namespace

TEST_CASE("optimizers are accepted that update element by element") {
  CHECK(optimizer_category::accepts<zero::AdamW>);
  CHECK(optimizer_category::accepts<zero::Sgd>);
  CHECK(optimizer_category::accepts<zero::PlainSgd>);
  CHECK(optimizer_category::accepts<zero::Lion>);
  CHECK_FALSE(optimizer_category::accepts<WithoutUpdate>);
}
