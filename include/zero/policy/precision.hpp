// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/fwd.hpp>
#include <zero/policy/concepts.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <type_traits>

namespace zero::inline ZERO_ABI {

/// Category of `Precision<T>`: the type of the parameters, and whether losses are scaled.
struct precision_category {
  using default_policy = Precision<BF16>;  ///< bfloat16 parameters, no loss scaling

  /// Judges how often an engine's list chooses.
  template <std::size_t Count>
  struct check_given_once {
    static constexpr bool value = true;  ///< to be asserted on
    static_assert(Count <= 1,
                  "zero::ZeroEngine: Precision<Format> was given more than once; keep one.");
  };
};

/// IEEE 754 binary32, as an argument of `Precision` and `Accumulate`.
struct FP32 {
  using type = float;  ///< the element type of tensors
};

/// bfloat16: 8 bits of exponent, 8 of significand; as an argument of `Precision`.
struct BF16 {
  using type = bf16;  ///< the element type of tensors
};

/// IEEE 754 binary16: 5 bits of exponent, 11 of significand; as an argument of `Precision`.
struct FP16 {
  using type = fp16;  ///< the element type of tensors
};

namespace detail {

template <class Format>
inline constexpr bool is_format_v =
    std::is_same_v<Format, FP32> || std::is_same_v<Format, BF16> || std::is_same_v<Format, FP16>;

/// The rule of `Precision`, with its sentence.
template <class Format>
struct check_precision_format {
  static constexpr bool value = true;
  static_assert(is_format_v<Format>,
                "zero::Precision: the argument is not a number format of this library; use "
                "Precision<FP32>, Precision<BF16> or Precision<FP16>.");
};

}  // namespace detail

/// The number format of the parameters. It does not convert anything: element types come from the
/// container, `Precision` checks them (a tensor of `float` may stand beside any format) and decides
/// whether losses are scaled. `Precision<FP16>` turns on dynamic loss scaling; the others have none
/// in their engine's type. Default: `Precision<BF16>`.
/// @tparam Format `FP32`, `BF16` or `FP16`.
template <class Format>
struct Precision {
  using policy_category = precision_category;
  /// The element type of the parameters that are not `float`.
  using type = typename std::conditional_t<detail::is_format_v<Format>, Format, FP32>::type;
  static constexpr bool loss_scaling = std::is_same_v<Format, FP16>;  ///< losses are scaled
  static_assert(detail::check_precision_format<Format>::value);
};

static_assert(policy_of<Precision<BF16>, precision_category>);

/// Whether an engine of precision `P` takes parameters of element type `type`: the type of `P`, or
/// `float`.
template <policy_of<precision_category> P>
[[nodiscard]] constexpr bool precision_allows(dtype type) noexcept {
  return type == dtype::fp32 || type == dtype_of<typename P::type>;
}

}  // namespace zero::inline ZERO_ABI
