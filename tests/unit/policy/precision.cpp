// SPDX-License-Identifier: Apache-2.0
#include <zero/policy/precision.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace {

using fp32 = zero::Precision<zero::FP32>;
using bf16 = zero::Precision<zero::BF16>;
using fp16 = zero::Precision<zero::FP16>;

static_assert(zero::policy_of<fp32, zero::precision_category>);
static_assert(zero::policy_of<bf16, zero::precision_category>);
static_assert(zero::policy_of<fp16, zero::precision_category>);
static_assert(!zero::policy<zero::BF16>, "an argument of policies, and no policy");

static_assert(std::is_same_v<fp32::type, float>);
static_assert(std::is_same_v<bf16::type, zero::bf16>);
static_assert(std::is_same_v<fp16::type, zero::fp16>);

static_assert(noexcept(zero::precision_allows<fp32>(zero::dtype::fp32)));

}  // namespace

TEST_CASE("losses are scaled in FP16 alone") {
  CHECK_FALSE(fp32::loss_scaling);
  CHECK_FALSE(bf16::loss_scaling);
  CHECK(fp16::loss_scaling);
}

TEST_CASE("a precision allows its own type and float") {
  using zero::dtype;
  using zero::precision_allows;
  CHECK(precision_allows<fp32>(dtype::fp32));
  CHECK_FALSE(precision_allows<fp32>(dtype::bf16));
  CHECK_FALSE(precision_allows<fp32>(dtype::fp16));
  CHECK(precision_allows<bf16>(dtype::fp32));
  CHECK(precision_allows<bf16>(dtype::bf16));
  CHECK_FALSE(precision_allows<bf16>(dtype::fp16));
  CHECK(precision_allows<fp16>(dtype::fp32));
  CHECK_FALSE(precision_allows<fp16>(dtype::bf16));
  CHECK(precision_allows<fp16>(dtype::fp16));
}
