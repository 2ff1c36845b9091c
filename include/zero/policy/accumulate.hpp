// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/fwd.hpp>
#include <zero/policy/concepts.hpp>
#include <zero/policy/native.hpp>
#include <zero/policy/precision.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <type_traits>

namespace zero::inline ZERO_ABI {

/// Category of `Accumulate<T>`: the type gradients are accumulated in.
struct accumulate_category {
  using default_policy = Accumulate<FP32>;  ///< gradients are accumulated in FP32

  /// Judges how often an engine's list chooses.
  template <std::size_t Count>
  struct check_given_once {
    static constexpr bool value = true;  ///< to be asserted on
    static_assert(Count <= 1,
                  "zero::ZeroEngine: Accumulate<Format> was given more than once; keep one.");
  };
};

namespace detail {

/// The rule of `Accumulate`, with its sentence.
template <class Format>
struct check_accumulate {
  static constexpr bool value = true;
  static_assert(
      std::is_same_v<Format, FP32> || std::is_same_v<Format, Native>,
      "zero::Accumulate: gradients are summed in FP32 or kept in the type of the parameters; "
      "use Accumulate<FP32> or Accumulate<Native>.");
};

}  // namespace detail

/// The type that gradients are accumulated in over micro-steps and stored in until the update: 4
/// bytes an element for `Accumulate<FP32>`, the parameter's own size for `Accumulate<Native>`,
/// which rounds once after each sum. Default: `Accumulate<FP32>`.
/// @tparam Format `FP32` or `Native`.
template <class Format>
struct Accumulate {
  using policy_category = accumulate_category;
  static constexpr bool native =
      std::is_same_v<Format, Native>;  ///< accumulators are as parameters
  /// The accumulator's type for parameters of type `Element`.
  template <element Element>
  using type = std::conditional_t<native, Element, float>;
  static_assert(detail::check_accumulate<Format>::value);
};

static_assert(policy_of<Accumulate<FP32>, accumulate_category>);

}  // namespace zero::inline ZERO_ABI
