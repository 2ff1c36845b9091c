// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/config.hpp>
#include <zero/version.hpp>

#include <cstdint>

/// @file
/// Arithmetic that gives the same bits everywhere: each function is one IEEE 754 operation, rounded
/// once to nearest even, denormals kept, never contracted, reassociated or approximated, on every
/// supported compiler, under every flag (-Ofast, -march=native, nvcc --use_fast_math), at every
/// vector width, on the host and on a GPU. The optimizers and all scalars of a step are written in
/// it. Rules for code that must be exact:
///
/// - Call these functions instead of + - * / on float and double. On a GPU that goes for negation,
///   comparison and conversion too, since with --use_fast_math these flush denormals to zero as
///   well: use `neg`, `abs`, `sign`, `less`, `widen`, `narrow`. Comparison of integers and of bits
///   is safe.
/// - A host program linked with -Ofast runs with flush-to-zero set; put the loop under an
///   `exact_float_environment`.
/// - With g++, mark the loop's function ZERO_EXACT, or each primitive is a call.
/// - Whether a result is NaN is the same everywhere; which NaN it is, is not.
/// - `fma` on a host compiled without FMA instructions is a library call: right, but slow.
///
/// Cost: one instruction each. All are `noexcept`; all but `fma` and `sqrt` are `constexpr`.

#if ZERO_IS_DEVICE_PASS()
// One PTX instruction without .ftz. An inline instruction is used and not an intrinsic such as
// __fadd_rn because nvcc gives intrinsics .ftz under --use_fast_math, and defines no macro then.
#  define ZERO_DETAIL_PTX(instruction, Result, result_register, ...) \
    Result result;                                                   \
    asm(instruction : "=" result_register(result) : __VA_ARGS__);    \
    return result;
// The same in a constexpr function.
#  define ZERO_DETAIL_CONSTEXPR_PTX(...)      \
    if (!__builtin_is_constant_evaluated()) { \
      ZERO_DETAIL_PTX(__VA_ARGS__)            \
    }
#else
#  define ZERO_DETAIL_PTX(...)
#  define ZERO_DETAIL_CONSTEXPR_PTX(...)
#endif

namespace zero::inline ZERO_ABI {

/// @return a + b, rounded once.
[[nodiscard]] ZERO_HOST_DEVICE ZERO_EXACT constexpr float add(float a, float b) noexcept {
  ZERO_EXACT_BODY
  ZERO_DETAIL_CONSTEXPR_PTX("add.rn.f32 %0, %1, %2;", float, "f", "f"(a), "f"(b))
  return a + b;
}

/// @return a + b, rounded once.
[[nodiscard]] ZERO_HOST_DEVICE ZERO_EXACT constexpr double add(double a, double b) noexcept {
  ZERO_EXACT_BODY
  ZERO_DETAIL_CONSTEXPR_PTX("add.rn.f64 %0, %1, %2;", double, "d", "d"(a), "d"(b))
  return a + b;
}

/// @return a - b, rounded once.
[[nodiscard]] ZERO_HOST_DEVICE ZERO_EXACT constexpr float sub(float a, float b) noexcept {
  ZERO_EXACT_BODY
  ZERO_DETAIL_CONSTEXPR_PTX("sub.rn.f32 %0, %1, %2;", float, "f", "f"(a), "f"(b))
  return a - b;
}

/// @return a - b, rounded once.
[[nodiscard]] ZERO_HOST_DEVICE ZERO_EXACT constexpr double sub(double a, double b) noexcept {
  ZERO_EXACT_BODY
  ZERO_DETAIL_CONSTEXPR_PTX("sub.rn.f64 %0, %1, %2;", double, "d", "d"(a), "d"(b))
  return a - b;
}

/// @return a * b, rounded once.
[[nodiscard]] ZERO_HOST_DEVICE ZERO_EXACT constexpr float mul(float a, float b) noexcept {
  ZERO_EXACT_BODY
  ZERO_DETAIL_CONSTEXPR_PTX("mul.rn.f32 %0, %1, %2;", float, "f", "f"(a), "f"(b))
  return a * b;
}

/// @return a * b, rounded once.
[[nodiscard]] ZERO_HOST_DEVICE ZERO_EXACT constexpr double mul(double a, double b) noexcept {
  ZERO_EXACT_BODY
  ZERO_DETAIL_CONSTEXPR_PTX("mul.rn.f64 %0, %1, %2;", double, "d", "d"(a), "d"(b))
  return a * b;
}

/// @return a / b, rounded once.
[[nodiscard]] ZERO_HOST_DEVICE ZERO_EXACT constexpr float div(float a, float b) noexcept {
  ZERO_EXACT_BODY
  ZERO_DETAIL_CONSTEXPR_PTX("div.rn.f32 %0, %1, %2;", float, "f", "f"(a), "f"(b))
  return a / b;
}

/// @return a / b, rounded once.
[[nodiscard]] ZERO_HOST_DEVICE ZERO_EXACT constexpr double div(double a, double b) noexcept {
  ZERO_EXACT_BODY
  ZERO_DETAIL_CONSTEXPR_PTX("div.rn.f64 %0, %1, %2;", double, "d", "d"(a), "d"(b))
  return a / b;
}

/// @return a * b + c, rounded once (fused).
[[nodiscard]] ZERO_HOST_DEVICE ZERO_EXACT inline float fma(float a, float b, float c) noexcept {
  ZERO_DETAIL_PTX("fma.rn.f32 %0, %1, %2, %3;", float, "f", "f"(a), "f"(b), "f"(c))
  return __builtin_fmaf(a, b, c);
}

/// @return a * b + c, rounded once (fused).
[[nodiscard]] ZERO_HOST_DEVICE ZERO_EXACT inline double fma(double a, double b, double c) noexcept {
  ZERO_DETAIL_PTX("fma.rn.f64 %0, %1, %2, %3;", double, "d", "d"(a), "d"(b), "d"(c))
  return __builtin_fma(a, b, c);
}

/// @return the square root of a, rounded once; NaN below zero.
[[nodiscard]] ZERO_HOST_DEVICE ZERO_EXACT inline float sqrt(float a) noexcept {
  ZERO_DETAIL_PTX("sqrt.rn.f32 %0, %1;", float, "f", "f"(a))
  return __builtin_sqrtf(a);
}

/// @return the square root of a, rounded once; NaN below zero.
[[nodiscard]] ZERO_HOST_DEVICE ZERO_EXACT inline double sqrt(double a) noexcept {
  ZERO_DETAIL_PTX("sqrt.rn.f64 %0, %1;", double, "d", "d"(a))
  return __builtin_sqrt(a);
}

/// @return a as a double; exact.
[[nodiscard]] ZERO_HOST_DEVICE ZERO_EXACT constexpr double widen(float a) noexcept {
  ZERO_DETAIL_CONSTEXPR_PTX("cvt.f64.f32 %0, %1;", double, "d", "f"(a))
  return static_cast<double>(a);
}

/// @return a as a float, rounded once.
[[nodiscard]] ZERO_HOST_DEVICE ZERO_EXACT constexpr float narrow(double a) noexcept {
  ZERO_DETAIL_CONSTEXPR_PTX("cvt.rn.f32.f64 %0, %1;", float, "f", "d"(a))
  return static_cast<float>(a);
}

/// @return a with the other sign; zeros, infinities and NaN too.
[[nodiscard]] ZERO_HOST_DEVICE ZERO_ALWAYS_INLINE constexpr float neg(float a) noexcept {
  return __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, a) ^ 0x8000'0000U);
}

/// @return a with the other sign; zeros, infinities and NaN too.
[[nodiscard]] ZERO_HOST_DEVICE ZERO_ALWAYS_INLINE constexpr double neg(double a) noexcept {
  return __builtin_bit_cast(double, __builtin_bit_cast(std::uint64_t, a) ^ 0x8000'0000'0000'0000U);
}

/// @return a without its sign.
[[nodiscard]] ZERO_HOST_DEVICE ZERO_ALWAYS_INLINE constexpr float abs(float a) noexcept {
  return __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, a) & 0x7fff'ffffU);
}

/// @return a without its sign.
[[nodiscard]] ZERO_HOST_DEVICE ZERO_ALWAYS_INLINE constexpr double abs(double a) noexcept {
  return __builtin_bit_cast(double, __builtin_bit_cast(std::uint64_t, a) & 0x7fff'ffff'ffff'ffffU);
}

/// @return whether a < b; false if one is NaN. Denormals count.
[[nodiscard]] ZERO_HOST_DEVICE ZERO_EXACT constexpr bool less(float a, float b) noexcept {
  // Conversion to double is exact and keeps denormals; a comparison of doubles never flushes.
  return widen(a) < widen(b);
}

/// @return whether a < b; false if one is NaN. Denormals count.
[[nodiscard]] ZERO_HOST_DEVICE ZERO_EXACT constexpr bool less(double a, double b) noexcept {
  return a < b;
}

/// @return whether a is neither infinite nor NaN. Looks at the bits, so that -ffinite-math-only
///         cannot fold it.
[[nodiscard]] ZERO_HOST_DEVICE ZERO_ALWAYS_INLINE constexpr bool is_finite(float a) noexcept {
  return (__builtin_bit_cast(std::uint32_t, a) & 0x7f80'0000U) != 0x7f80'0000U;
}

/// @return whether a is neither infinite nor NaN. Looks at the bits, so that -ffinite-math-only
///         cannot fold it.
[[nodiscard]] ZERO_HOST_DEVICE ZERO_ALWAYS_INLINE constexpr bool is_finite(double a) noexcept {
  constexpr std::uint64_t exponent = 0x7ff0'0000'0000'0000U;
  return (__builtin_bit_cast(std::uint64_t, a) & exponent) != exponent;
}

/// @return 1 with the sign of a, or a itself if it is 0 or NaN. Denormals have a sign.
[[nodiscard]] ZERO_HOST_DEVICE ZERO_ALWAYS_INLINE constexpr float sign(float a) noexcept {
  auto const bits = __builtin_bit_cast(std::uint32_t, a);
  std::uint32_t const magnitude = bits & 0x7fff'ffffU;
  bool const is_itself = magnitude == 0 || magnitude > 0x7f80'0000U;
  return is_itself ? a : __builtin_bit_cast(float, (bits & 0x8000'0000U) | 0x3f80'0000U);
}

/// base to the power of a whole number, by repeated squaring in FP64. This is how the powers of an
/// optimizer's beta are formed, on the host and on a GPU alike; no pow, no exp.
/// @param base      any value
/// @param exponent  0 or more; below 0 counts as 0
/// @return base^exponent; its relative error is below exponent * 2^-53. Cost: at most 126
///         multiplications.
[[nodiscard]] ZERO_HOST_DEVICE ZERO_EXACT constexpr double power(double base,
                                                                 std::int64_t exponent) noexcept {
  double result = 1.0;
  double square = base;
  while (exponent > 0) {
    if ((exponent & 1) != 0) {
      result = mul(result, square);
    }
    exponent >>= 1;
    if (exponent > 0) {
      square = mul(square, square);
    }
  }
  return result;
}

/// Finds out whether the compiler was told to fuse multiplications and additions where nothing can
/// stop it: clang on the host with -ffp-contract=fast, which no macro tells and no pragma
/// overrides.
/// @return whether the primitives are exact in this program. Cost: a few operations.
[[nodiscard]] ZERO_EXACT inline bool arithmetic_is_exact() noexcept {
  float const volatile a = 1.000244140625F;  // 1 + 2^-12; its square is 1 + 2^-11 + 2^-24
  float const volatile b = 1.00048828125F;   // 1 + 2^-11
  float const factor = a;
  return sub(mul(factor, factor), b) == 0.0F;
}

}  // namespace zero::inline ZERO_ABI

#undef ZERO_DETAIL_CONSTEXPR_PTX
#undef ZERO_DETAIL_PTX
