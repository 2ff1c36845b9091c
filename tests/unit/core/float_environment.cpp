// SPDX-License-Identifier: Apache-2.0
#include <zero/core/float_environment.hpp>

#include <zero/core/arithmetic.hpp>

#include <doctest/doctest.h>

#include <cfenv>
#include <type_traits>

#if ZERO_IS_X86_64()
#  include <xmmintrin.h>
#endif

static_assert(!std::is_copy_constructible_v<zero::exact_float_environment>);
static_assert(!std::is_copy_assignable_v<zero::exact_float_environment>);
static_assert(std::is_nothrow_default_constructible_v<zero::exact_float_environment>);

namespace {

// As a kernel works: from memory to memory.
[[gnu::noinline]] void halve(float const* from, float* to) {
  zero::exact_float_environment const environment;
  *to = zero::mul(*from, 0.5F);
}

[[gnu::noinline]] void divide(float const* from, float* to) {
  zero::exact_float_environment const environment;
  *to = zero::div(*from, 3.0F);
}

}  // namespace

#if ZERO_IS_X86_64()

TEST_CASE("flush-to-zero and denormals-are-zero are off inside and restored after") {
  unsigned const before = _mm_getcsr();
  unsigned const flushing = before | 0x8040U;
  _mm_setcsr(flushing);
  float const volatile from = 0x1p-126F;
  float const input = from;
  float result = 0;
  halve(&input, &result);
  unsigned const after = _mm_getcsr();
  _mm_setcsr(before);
  CHECK(result == 0x1p-127F);
  CHECK(after == flushing);
}

TEST_CASE("environments nest") {
  unsigned const before = _mm_getcsr();
  {
    zero::exact_float_environment const outer;
    CHECK((_mm_getcsr() & 0xffc0U) == 0x1f80U);
    {
      zero::exact_float_environment const inner;
      CHECK((_mm_getcsr() & 0xffc0U) == 0x1f80U);
    }
    CHECK((_mm_getcsr() & 0xffc0U) == 0x1f80U);
  }
  CHECK(_mm_getcsr() == before);
}

#endif

TEST_CASE("rounding is to nearest inside and as before after") {
  float const volatile one = 1.0F;
  float const input = one;
  float result = 0;
  std::fesetround(FE_UPWARD);
  divide(&input, &result);
  int const after = std::fegetround();
  std::fesetround(FE_TONEAREST);
  CHECK(after == FE_UPWARD);
  CHECK(result == 0x1.555556p-2F);  // rounded up it would be the same; down not: see below
  std::fesetround(FE_DOWNWARD);
  divide(&input, &result);
  std::fesetround(FE_TONEAREST);
  CHECK(result == 0x1.555556p-2F);
}
