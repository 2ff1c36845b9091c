// SPDX-License-Identifier: Apache-2.0
#include <zero/core/config.hpp>

#include <doctest/doctest.h>

// Function-like and always defined: a misspelt one would be an error here.
static_assert(ZERO_HAS_CUDA_COMPILER() == 0);
static_assert(ZERO_IS_DEVICE_PASS() == 0);
static_assert(ZERO_IS_X86_64() == 0 || ZERO_IS_X86_64() == 1);

namespace {

// With plain operators on purpose: what the macros promise without the help of the primitives.
ZERO_HOST_DEVICE ZERO_EXACT float product_less(float a, float b, float c) {
  ZERO_EXACT_BODY
  return a * b - c;
}

ZERO_ALWAYS_INLINE constexpr int twice(int x) {
  return 2 * x;
}

static_assert(twice(3) == 6);

}  // namespace

TEST_CASE("an exact function rounds the product before it subtracts") {
  float const volatile a = 1.000244140625F;  // 1 + 2^-12: the square needs 25 bits
  float const volatile b = 1.00048828125F;   // the square rounded
  CHECK(product_less(a, a, b) == 0.0F);
}
