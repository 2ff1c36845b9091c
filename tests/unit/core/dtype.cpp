// SPDX-License-Identifier: Apache-2.0
#include <zero/core/dtype.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

static_assert(sizeof(zero::bf16) == 2 && alignof(zero::bf16) == 2);
static_assert(sizeof(zero::fp16) == 2 && alignof(zero::fp16) == 2);
static_assert(std::is_trivial_v<zero::bf16> && std::is_trivial_v<zero::fp16>);
static_assert(zero::element<float> && zero::element<zero::bf16> && zero::element<zero::fp16>);
static_assert(!zero::element<double> && !zero::element<int> && !zero::element<float const>);
static_assert(zero::dtype_of<float> == zero::dtype::fp32);
static_assert(zero::dtype_of<zero::bf16> == zero::dtype::bf16);
static_assert(zero::dtype_of<zero::fp16> == zero::dtype::fp16);
static_assert(zero::bytes_of(zero::dtype::fp32) == 4);
static_assert(zero::bytes_of(zero::dtype::bf16) == 2 && zero::bytes_of(zero::dtype::fp16) == 2);
static_assert(zero::from_float<zero::bf16>(1.0F) == zero::bf16{0x3f80});
static_assert(zero::from_float<zero::fp16>(1.0F) == zero::fp16{0x3c00});
static_assert(zero::from_float<zero::fp16>(0x1p-24F) == zero::fp16{1});
static_assert(zero::to_float(zero::fp16{0x0001}) == 0x1p-24F);
static_assert(zero::to_float(zero::bf16{0xc000}) == -2.0F);
static_assert(zero::from_float<float>(0.1F) == 0.1F);

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// An independent reading of the formats: fraction bits, exponent bits and bias, in double.
struct format {
  int fraction_bits;
  int exponent_bits;

  [[nodiscard]] int bias() const { return (1 << (exponent_bits - 1)) - 1; }

  [[nodiscard]] double value(std::uint16_t bits) const {
    int const fraction = bits & ((1 << fraction_bits) - 1);
    int const exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
    double const sign = (bits >> 15) != 0 ? -1.0 : 1.0;
    if (exponent == (1 << exponent_bits) - 1) {
      return fraction != 0 ? std::nan("") : sign * infinity;
    }
    int const scale = (exponent != 0 ? exponent : 1) - bias() - fraction_bits;
    return sign * std::ldexp((exponent != 0 ? 1 << fraction_bits : 0) + fraction, scale);
  }

  // Rounded to the nearest multiple of the last place, ties to even.
  [[nodiscard]] double nearest(double x) const {
    if (x == 0 || !std::isfinite(x)) {
      return x;
    }
    int const exponent = std::max(std::ilogb(x), 1 - bias());
    double const place = std::ldexp(1.0, exponent - fraction_bits);
    double const rounded = std::nearbyint(x / place) * place;
    return std::abs(rounded) < std::ldexp(1.0, bias() + 1) ? rounded : std::copysign(infinity, x);
  }
};

constexpr format bfloat{7, 8};
constexpr format half{10, 5};

template <class T>
constexpr format const& format_of = half;
template <>
constexpr format const& format_of<zero::bf16> = bfloat;

bool same(double a, double b) {
  return a == b && std::signbit(a) == std::signbit(b);
}

template <class T>
void check_rounding(float x) {
  T const converted = zero::from_float<T>(x);
  format const& f = format_of<T>;
  if (!same(f.value(converted.bits), f.nearest(x))) {
    CAPTURE(x);
    CAPTURE(converted.bits);
    REQUIRE(f.value(converted.bits) == f.nearest(x));
  }
}

}  // namespace

TYPE_TO_STRING(zero::bf16);
TYPE_TO_STRING(zero::fp16);

TEST_CASE_TEMPLATE("each of the 65536 values reads as its number", T, zero::bf16, zero::fp16) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    T const value{static_cast<std::uint16_t>(bits)};
    double const expected = format_of<T>.value(value.bits);
    float const actual = zero::to_float(value);
    if (std::isnan(expected)) {
      REQUIRE(std::isnan(actual));
      REQUIRE(std::signbit(actual) == (bits >= 32768));
    } else {
      REQUIRE(same(actual, expected));
      REQUIRE(zero::from_float<T>(actual) == value);
    }
  }
}

TEST_CASE_TEMPLATE("around each value and each midpoint rounding is to nearest even",
                   T,
                   zero::bf16,
                   zero::fp16) {
  // Rounding is monotonic, so the floats next to each border decide all others.
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    double const here = format_of<T>.value(static_cast<std::uint16_t>(bits));
    double const next = format_of<T>.value(static_cast<std::uint16_t>(bits + 1));
    if (!std::isfinite(here)) {
      continue;
    }
    double const above =
        std::isfinite(next) ? next : std::copysign(std::ldexp(1.0, format_of<T>.bias() + 1), here);
    auto const exact = static_cast<float>(here);
    auto const middle = static_cast<float>((here + above) / 2);
    for (float const center : {exact, middle}) {
      check_rounding<T>(center);
      check_rounding<T>(std::nextafter(center, std::numeric_limits<float>::infinity()));
      check_rounding<T>(std::nextafter(center, -std::numeric_limits<float>::infinity()));
    }
  }
}

TEST_CASE_TEMPLATE("floats of all sizes are rounded to nearest even", T, zero::bf16, zero::fp16) {
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32U); bits += 4093) {
    auto const x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (!std::isnan(x)) {
      check_rounding<T>(x);
    }
  }
}

TEST_CASE_TEMPLATE("NaN stays a quiet NaN with its sign", T, zero::bf16, zero::fp16) {
  for (std::uint32_t const bits : {0x7fc0'0000U,
                                   0xffc0'0000U,
                                   0x7f80'0001U,
                                   0xff80'0001U,
                                   0x7fff'ffffU,
                                   0xffff'ffffU,
                                   0x7fa0'0000U}) {
    T const converted = zero::from_float<T>(std::bit_cast<float>(bits));
    CHECK(std::isnan(format_of<T>.value(converted.bits)));
    CHECK((converted.bits >> 15U) == (bits >> 31U));
    CHECK((converted.bits >> (format_of<T>.fraction_bits - 1) & 1) == 1);
  }
}

TEST_CASE("the borders of fp16 are where IEEE 754 puts them") {
  CHECK(zero::from_float<zero::fp16>(65504.0F) == zero::fp16{0x7bff});
  CHECK(zero::from_float<zero::fp16>(65519.996F) == zero::fp16{0x7bff});
  CHECK(zero::from_float<zero::fp16>(65520.0F) == zero::fp16{0x7c00});
  CHECK(zero::from_float<zero::fp16>(-65520.0F) == zero::fp16{0xfc00});
  CHECK(zero::from_float<zero::fp16>(0x1p-25F) == zero::fp16{0});  // a tie: to even
  CHECK(zero::from_float<zero::fp16>(0x1.000002p-25F) == zero::fp16{1});
  CHECK(zero::from_float<zero::fp16>(0x1.8p-24F) == zero::fp16{2});  // a tie: to even
  CHECK(zero::from_float<zero::fp16>(-0.0F) == zero::fp16{0x8000});
  CHECK(zero::from_float<zero::fp16>(0x1.ffep-15F) == zero::fp16{0x0400});  // rounds to normal
}

TEST_CASE("the borders of bf16 are those of float") {
  CHECK(zero::from_float<zero::bf16>(std::numeric_limits<float>::max()) == zero::bf16{0x7f80});
  CHECK(zero::from_float<zero::bf16>(0x1.fep127F) == zero::bf16{0x7f7f});
  CHECK(zero::from_float<zero::bf16>(0x1p-149F) == zero::bf16{0});
  CHECK(zero::from_float<zero::bf16>(0x1p-133F) == zero::bf16{1});
}

TEST_CASE("names and visits follow the run-time type") {
  CHECK(std::string(zero::name(zero::dtype::fp32)) == "fp32");
  CHECK(std::string(zero::name(zero::dtype::bf16)) == "bf16");
  CHECK(std::string(zero::name(zero::dtype::fp16)) == "fp16");
  for (zero::dtype const type : {zero::dtype::fp32, zero::dtype::bf16, zero::dtype::fp16}) {
    auto const same_type = [&]<class T>(std::type_identity<T>) {
      return zero::dtype_of<T> == type &&
             static_cast<std::int64_t>(sizeof(T)) == zero::bytes_of(type);
    };
    CHECK(zero::visit_dtype(type, same_type));
  }
  CHECK_THROWS_AS(zero::visit_dtype(static_cast<zero::dtype>(9), [](auto) {}), zero::logic_error);
}
