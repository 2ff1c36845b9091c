// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace zero::test {

/// Numbers whose exponents are spread widely, so that each order of adding them gives other bits;
/// zeros of both signs and denormals among them.
class wild_numbers {
 public:
  explicit wild_numbers(std::uint64_t seed)
      : bits_(seed) {}

  float next() {
    std::uint64_t const bits = bits_();
    switch (bits % 64) {
      case 0:
        return 0.0F;
      case 1:
        return -0.0F;
      case 2:
        return std::bit_cast<float>(static_cast<std::uint32_t>(bits >> 32U) & 0x807f'ffffU);
      default:
        break;
    }
    double const fraction = 1 + static_cast<double>(bits >> 40U) / static_cast<double>(1U << 24U);
    int const exponent = static_cast<int>(bits >> 8U & 0xffU) % 25 - 12;
    return static_cast<float>(std::ldexp((bits >> 6U & 1U) != 0 ? -fraction : fraction, exponent));
  }

  template <element T>
  std::vector<T> vector(std::int64_t n) {
    std::vector<T> values;
    for (std::int64_t i = 0; i < n; ++i) {
      values.push_back(from_float<T>(next()));
    }
    return values;
  }

  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(bits_() % static_cast<std::uint64_t>(end));
  }

 private:
  std::mt19937_64 bits_;
};

/// A quiet NaN of an element type: what no kernel may read.
template <element T>
inline constexpr T poison = from_float<T>(std::numeric_limits<float>::quiet_NaN());

/// The same bits; any NaN equals any other, whose payloads no rule fixes.
template <element T>
[[nodiscard]] bool same(T a, T b) {
  float const x = to_float(a);
  float const y = to_float(b);
  return std::isnan(x) ? std::isnan(y) : std::memcmp(&a, &b, sizeof a) == 0;
}

[[nodiscard]] inline bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b)
                       : std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

/// How many elements of two vectors differ; all, if their sizes do.
template <class T>
[[nodiscard]] std::size_t differences(std::vector<T> const& a, std::vector<T> const& b) {
  if (a.size() != b.size()) {
    return std::max(a.size(), b.size());
  }
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    count += same(a[i], b[i]) ? 0 : 1;
  }
  return count;
}

/// The element nearest to a double, ties to even: written apart from the library's conversions.
/// @pre value is the exact result, or one double rounding that cannot change the outcome
template <element T>
[[nodiscard]] T rounded(double value) {
  if constexpr (std::same_as<T, float>) {
    return static_cast<float>(value);
  } else {
    constexpr bool brain = std::same_as<T, bf16>;
    constexpr int fraction_bits = brain ? 7 : 10;
    constexpr int least_exponent = brain ? -126 : -14;
    constexpr int bias = brain ? 127 : 15;
    constexpr std::uint32_t infinity = brain ? 0x7f80U : 0x7c00U;
    std::uint32_t const sign = std::signbit(value) ? 0x8000U : 0U;
    double const magnitude = std::fabs(value);
    if (std::isnan(value)) {
      return T{static_cast<std::uint16_t>(sign | infinity | (infinity >> 1U))};
    }
    std::uint32_t bits = infinity;
    if (!std::isinf(value)) {
      int const exponent =
          magnitude == 0 ? least_exponent : std::max(std::ilogb(magnitude), least_exponent);
      double const steps = std::nearbyint(std::ldexp(magnitude, fraction_bits - exponent));
      // Fraction and exponent are one number: a normal's hidden bit adds one to the exponent field.
      bits = static_cast<std::uint32_t>(steps) + (static_cast<std::uint32_t>(exponent + bias - 1)
                                                  << static_cast<unsigned>(fraction_bits));
      bits = std::min(bits, infinity);
    }
    return T{static_cast<std::uint16_t>(sign | bits)};
  }
}

/// The value of an element, by the definition of its format: written apart from `to_float`.
template <element T>
[[nodiscard]] float decoded(T value) {
  if constexpr (std::same_as<T, float>) {
    return value;
  } else {
    constexpr int fraction_bits = std::same_as<T, bf16> ? 7 : 10;
    constexpr int exponent_bits = 15 - fraction_bits;
    constexpr int bias = (1 << (exponent_bits - 1)) - 1;
    int const bits = value.bits;
    int const fraction = bits & ((1 << fraction_bits) - 1);
    int const exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
    double magnitude = 0;
    if (exponent == (1 << exponent_bits) - 1) {
      magnitude = fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                                : std::numeric_limits<double>::infinity();
    } else {
      int const hidden = exponent != 0 ? 1 << fraction_bits : 0;
      magnitude = std::ldexp(hidden + fraction, std::max(exponent, 1) - bias - fraction_bits);
    }
    return static_cast<float>((bits & 0x8000) != 0 ? -magnitude : magnitude);
  }
}

}  // namespace zero::test
