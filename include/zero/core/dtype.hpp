// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/config.hpp>
#include <zero/core/error.hpp>
#include <zero/version.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace zero::inline ZERO_ABI {

/// A bfloat16 number: the upper half of an IEEE 754 float. Storage only; compute in float through
/// `to_float` and `from_float`. Same layout as CUDA's __nv_bfloat16. Trivial, not initialised.
struct bf16 {
  std::uint16_t bits;  ///< sign 1, exponent 8, fraction 7

  /// Equality of bits: a NaN equals itself, +0 and -0 differ.
  friend constexpr bool operator==(bf16, bf16) = default;
};

/// An IEEE 754 binary16 number. Storage only; compute in float through `to_float` and `from_float`.
/// Same layout as CUDA's __half. Trivial, not initialised.
struct fp16 {
  std::uint16_t bits;  ///< sign 1, exponent 5, fraction 10

  /// Equality of bits: a NaN equals itself, +0 and -0 differ.
  friend constexpr bool operator==(fp16, fp16) = default;
};

/// The element types of parameters and gradients, as a run-time value.
enum class dtype : std::uint8_t { fp32, bf16, fp16 };

/// A type that parameters and gradients may have: float, bf16 or fp16.
template <class T>
concept element = std::same_as<T, float> || std::same_as<T, bf16> || std::same_as<T, fp16>;

/// The run-time value of an element type.
template <element T>
inline constexpr dtype dtype_of = std::same_as<T, float>  ? dtype::fp32
                                  : std::same_as<T, bf16> ? dtype::bf16
                                                          : dtype::fp16;

/// @return the size of one element in bytes: 4 or 2.
[[nodiscard]] ZERO_HOST_DEVICE constexpr std::int64_t bytes_of(dtype type) noexcept {
  return type == dtype::fp32 ? 4 : 2;
}

/// @return "fp32", "bf16" or "fp16".
[[nodiscard]] constexpr char const* name(dtype type) noexcept {
  return type == dtype::fp32 ? "fp32" : type == dtype::bf16 ? "bf16" : "fp16";
}

/// Calls f with the type that a run-time value stands for.
/// @param type  the value
/// @param f     called once, as f(std::type_identity<T>{}) with T one of float, bf16, fp16
/// @return what f returns; f must return the same type for all three
/// @throws logic_error if type is none of the enumerators
template <class F>
constexpr decltype(auto) visit_dtype(dtype type, F&& f) {
  switch (type) {
    case dtype::fp32:
      return std::forward<F>(f)(std::type_identity<float>{});
    case dtype::bf16:
      return std::forward<F>(f)(std::type_identity<bf16>{});
    case dtype::fp16:
      return std::forward<F>(f)(std::type_identity<fp16>{});
  }
  throw logic_error("zero::visit_dtype: not an element type; pass dtype::fp32, bf16 or fp16.");
}

namespace detail {

/// Both conversions work on bits alone: the same on host and device, whatever flags are set.
[[nodiscard]] ZERO_HOST_DEVICE ZERO_ALWAYS_INLINE constexpr std::uint16_t bf16_bits(
    std::uint32_t bits) noexcept {
  if ((bits & 0x7fff'ffffU) > 0x7f80'0000U) {
    return static_cast<std::uint16_t>((bits >> 16U) | 0x0040U);  // NaN: quiet, payload cut off
  }
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U);
}

[[nodiscard]] ZERO_HOST_DEVICE ZERO_ALWAYS_INLINE constexpr std::uint16_t fp16_bits(
    std::uint32_t bits) noexcept {
  std::uint32_t const sign = (bits >> 16U) & 0x8000U;
  std::uint32_t const magnitude = bits & 0x7fff'ffffU;
  std::uint32_t result = 0;
  if (magnitude > 0x7f80'0000U) {
    result = 0x7e00U | ((magnitude >> 13U) & 0x03ffU);  // NaN: quiet, payload cut off
  } else if (magnitude >= 0x477f'f000U) {
    result = 0x7c00U;  // 65520, halfway between the largest number and 2^16, and above: infinity
  } else if (magnitude >= 0x3880'0000U) {
    // 2^-14 and above: normal. Exponent 127 becomes 15; the carry of rounding may enter it.
    result = (magnitude - 0x3800'0000U + 0x0fffU + ((magnitude >> 13U) & 1U)) >> 13U;
  } else if (magnitude > 0x3300'0000U) {
    // Above 2^-25, half the smallest denormal: a multiple of 2^-24, rounded to nearest even.
    std::uint32_t const fraction = (magnitude & 0x007f'ffffU) | 0x0080'0000U;
    std::uint32_t const shift = 126U - (magnitude >> 23U);  // 14 .. 24
    std::uint32_t const half = 1U << (shift - 1U);
    result = (fraction + (half - 1U) + ((fraction >> shift) & 1U)) >> shift;
  }
  return static_cast<std::uint16_t>(sign | result);
}

[[nodiscard]] ZERO_HOST_DEVICE ZERO_ALWAYS_INLINE constexpr std::uint32_t float_bits(
    fp16 value) noexcept {
  std::uint32_t const half = value.bits;
  std::uint32_t const sign = (half & 0x8000U) << 16U;
  std::uint32_t const exponent = (half >> 10U) & 0x1fU;
  std::uint32_t fraction = half & 0x03ffU;
  if (exponent == 0x1fU) {
    return sign | 0x7f80'0000U | (fraction << 13U);
  }
  if (exponent != 0) {
    return sign | ((exponent + 112U) << 23U) | (fraction << 13U);
  }
  if (fraction == 0) {
    return sign;
  }
  std::uint32_t shifted = 113U;  // a denormal: move its first one to where a normal hides it
  while ((fraction & 0x0400U) == 0) {
    fraction <<= 1U;
    --shifted;
  }
  return sign | (shifted << 23U) | ((fraction & 0x03ffU) << 13U);
}

}  // namespace detail

/// @return value as a float; exact. The bits of a NaN are kept.
[[nodiscard]] ZERO_HOST_DEVICE ZERO_ALWAYS_INLINE constexpr float to_float(float value) noexcept {
  return value;
}

/// @return value as a float; exact. The bits of a NaN are kept.
[[nodiscard]] ZERO_HOST_DEVICE ZERO_ALWAYS_INLINE constexpr float to_float(bf16 value) noexcept {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(value.bits) << 16U);
}

/// @return value as a float; exact. The bits of a NaN are kept.
[[nodiscard]] ZERO_HOST_DEVICE ZERO_ALWAYS_INLINE constexpr float to_float(fp16 value) noexcept {
  return __builtin_bit_cast(float, detail::float_bits(value));
}

/// Converts to an element type: round to nearest, ties to even, denormals kept, overflow to
/// infinity, a NaN stays a (quiet) NaN with its sign. The same bits on host and device, at compile
/// time and at run time, whatever flags are set.
/// @tparam T     the element type
/// @param value  any float
/// @return value rounded once
template <element T>
[[nodiscard]] ZERO_HOST_DEVICE ZERO_ALWAYS_INLINE constexpr T from_float(float value) noexcept {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else if constexpr (std::is_same_v<T, bf16>) {
    return bf16{detail::bf16_bits(__builtin_bit_cast(std::uint32_t, value))};
  } else {
    return fp16{detail::fp16_bits(__builtin_bit_cast(std::uint32_t, value))};
  }
}

}  // namespace zero::inline ZERO_ABI
