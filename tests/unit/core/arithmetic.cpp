// SPDX-License-Identifier: Apache-2.0
#include <zero/core/arithmetic.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>

static_assert(zero::add(1.0F, 2.0F) == 3.0F);
static_assert(zero::sub(1.0, 2.0) == -1.0);
static_assert(zero::mul(3.0F, 2.0F) == 6.0F);
static_assert(zero::div(1.0, 4.0) == 0.25);
static_assert(zero::widen(0x1p-149F) == 0x1p-149);
static_assert(zero::narrow(0x1.000001p0) == 1.0F);  // halfway: to even
static_assert(zero::narrow(0x1.000003p0) == 0x1.000004p0F);
static_assert(zero::neg(1.0F) == -1.0F && zero::neg(-2.0) == 2.0);
static_assert(zero::abs(-1.0F) == 1.0F && zero::abs(-2.0) == 2.0);
static_assert(zero::sign(-3.0F) == -1.0F && zero::sign(0x1p-149F) == 1.0F);
static_assert(zero::less(1.0F, 2.0F) && !zero::less(2.0, 2.0));
static_assert(zero::power(0.5, 10) == 0x1p-10);
static_assert(noexcept(zero::fma(1.0F, 1.0F, 1.0F)) && noexcept(zero::sqrt(1.0)));
static_assert(std::is_same_v<decltype(zero::add(1.0F, 1.0F)), float>);
static_assert(std::is_same_v<decltype(zero::add(1.0, 1.0)), double>);

namespace {

__extension__ using wide = __float128;  // 113 bits: rounding its results once more is harmless

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

template <class T>
bool same(T a, T b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

// Any bits: denormals, infinities and NaN among them.
struct any_numbers {
  std::mt19937_64 bits{1};

  float single() { return std::bit_cast<float>(static_cast<std::uint32_t>(bits())); }

  double twofold() { return std::bit_cast<double>(std::uint64_t{bits()}); }
};

}  // namespace

TEST_CASE("operations on floats are rounded once") {
  // In double, which has more than twice the bits, so that rounding twice gives the same.
  any_numbers numbers;
  for (int i = 0; i < 200'000; ++i) {
    float const a = numbers.single();
    float const b = i % 2 == 0 ? numbers.single() : a * 1.5F;
    double const x = a;
    double const y = b;
    REQUIRE(same(zero::add(a, b), static_cast<float>(x + y)));
    REQUIRE(same(zero::sub(a, b), static_cast<float>(x - y)));
    REQUIRE(same(zero::mul(a, b), static_cast<float>(x * y)));
    REQUIRE(same(zero::div(a, b), static_cast<float>(x / y)));
    REQUIRE(same(zero::sqrt(a), static_cast<float>(std::sqrt(x))));
    REQUIRE(same(zero::fma(a, b, b), std::fma(a, b, b)));
    REQUIRE(zero::less(a, b) == (a < b));
    REQUIRE(same(zero::widen(a), x));
  }
}

TEST_CASE("operations on doubles are rounded once") {
  any_numbers numbers;
  for (int i = 0; i < 100'000; ++i) {
    double const a = numbers.twofold();
    double const b = i % 2 == 0 ? numbers.twofold() : a * 1.5;
    wide const x = a;
    wide const y = b;
    REQUIRE(same(zero::add(a, b), static_cast<double>(x + y)));
    REQUIRE(same(zero::sub(a, b), static_cast<double>(x - y)));
    REQUIRE(same(zero::mul(a, b), static_cast<double>(x * y)));
    REQUIRE(same(zero::div(a, b), static_cast<double>(x / y)));
    REQUIRE(same(zero::fma(a, b, b), std::fma(a, b, b)));
    REQUIRE(same(zero::sqrt(a), std::sqrt(a)));
    REQUIRE(same(zero::narrow(a), static_cast<float>(a)));
    REQUIRE(zero::less(a, b) == (a < b));
  }
}

TEST_CASE("a product is rounded before it is added, and fma rounds once") {
  float const volatile a = 1.000244140625F;  // 1 + 2^-12: the square needs 25 bits
  float const volatile b = 1.00048828125F;   // the square rounded
  CHECK(zero::sub(zero::mul(a, a), b) == 0.0F);
  CHECK(zero::fma(a, a, zero::neg(b)) == 0x1p-24F);
  CHECK(zero::arithmetic_is_exact());
}

TEST_CASE("denormals are kept") {
  float const volatile smallest = 0x1p-149F;
  CHECK(zero::add(smallest, smallest) == 0x1p-148F);
  CHECK(zero::mul(0x1p-126F, 0.5F) == 0x1p-127F);
  CHECK(zero::div(0x1p-126F, 2.0F) == 0x1p-127F);
  CHECK(zero::less(0.0F, smallest));
  CHECK(zero::widen(smallest) == 0x1p-149);
  CHECK(zero::narrow(0x1p-149) == smallest);
}

TEST_CASE("sign, neg and abs work on bits") {
  CHECK(zero::sign(infinity) == 1.0F);
  CHECK(zero::sign(-0x1p-149F) == -1.0F);
  CHECK(same(zero::sign(0.0F), 0.0F));
  CHECK(same(zero::sign(-0.0F), -0.0F));
  CHECK(std::isnan(zero::sign(not_a_number)));
  CHECK(same(zero::neg(0.0F), -0.0F));
  CHECK(same(zero::abs(-0.0), 0.0));
  CHECK(zero::abs(-infinity) == infinity);
  CHECK(std::signbit(zero::neg(not_a_number)) != std::signbit(not_a_number));
}

TEST_CASE("is_finite is true for numbers alone") {
  CHECK(zero::is_finite(std::numeric_limits<float>::max()));
  CHECK(zero::is_finite(std::numeric_limits<double>::denorm_min()));
  CHECK(zero::is_finite(-0.0F));
  CHECK_FALSE(zero::is_finite(infinity));
  CHECK_FALSE(zero::is_finite(-infinity));
  CHECK_FALSE(zero::is_finite(not_a_number));
  CHECK_FALSE(zero::is_finite(-std::numeric_limits<double>::infinity()));
  CHECK_FALSE(zero::is_finite(std::numeric_limits<double>::quiet_NaN()));
}

TEST_CASE("less is false where a NaN takes part") {
  CHECK_FALSE(zero::less(not_a_number, 1.0F));
  CHECK_FALSE(zero::less(1.0F, not_a_number));
  CHECK(zero::less(-infinity, infinity));
  CHECK_FALSE(zero::less(-0.0F, 0.0F));
}

TEST_CASE("power squares repeatedly, and keeps close to the true power") {
  CHECK(zero::power(0.9, 0) == 1.0);
  CHECK(zero::power(0.9, -3) == 1.0);
  CHECK(zero::power(0.0, 0) == 1.0);
  CHECK(zero::power(0.0, 5) == 0.0);
  CHECK(zero::power(-2.0, 3) == -8.0);
  CHECK(zero::power(2.0, 1023) == 0x1p1023);
  CHECK(zero::power(0.999, std::int64_t{1} << 62) == 0.0);
  for (double const base : {0.9, 0.95, 0.99, 0.999, 0.9999, 0.999999}) {
    for (std::int64_t const t : {1, 2, 3, 7, 10, 100, 999, 12'345, 123'456}) {
      long double const expected = std::pow(static_cast<long double>(base), t);
      long double const error = std::abs(static_cast<long double>(zero::power(base, t)) - expected);
      CHECK(error <= expected * static_cast<long double>(t) * 0x1p-53L + 0x1p-1074L);
    }
  }
}
