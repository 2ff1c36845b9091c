// SPDX-License-Identifier: Apache-2.0
#include <zero/policy/accumulate.hpp>

#include <doctest/doctest.h>

#include <type_traits>

static_assert(zero::policy_of<zero::Accumulate<zero::FP32>, zero::accumulate_category>);
static_assert(zero::policy_of<zero::Accumulate<zero::Native>, zero::accumulate_category>);

TEST_CASE_TEMPLATE(
    "an accumulator is float, or of the parameter's own type", T, float, zero::bf16, zero::fp16) {
  CHECK_FALSE(zero::Accumulate<zero::FP32>::native);
  CHECK(std::is_same_v<zero::Accumulate<zero::FP32>::type<T>, float>);
  CHECK(zero::Accumulate<zero::Native>::native);
  CHECK(std::is_same_v<zero::Accumulate<zero::Native>::type<T>, T>);
}
