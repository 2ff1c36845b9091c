// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/model/element_types.hpp>
#include <zero/policy/concepts.hpp>
#include <zero/policy/precision.hpp>
#include <zero/version.hpp>

namespace zero::inline ZERO_ABI {

namespace detail {

template <class P, class List>
inline constexpr bool allows_all = false;
template <class P, class... Ts>
inline constexpr bool allows_all<P, type_list<Ts...>> =
    (precision_allows<P>(dtype_of<Ts>) && ... && true);

/// Judges one element type. One instantiation a type, so that compilers name it.
template <class P, class T>
struct require_element_type {
  static constexpr bool value = true;
  static_assert(
      precision_allows<P>(dtype_of<T>),
      "zero::ZeroEngine: the container has tensors of an element type that its Precision "
      "does not allow: Precision<FP32> takes float, Precision<BF16> takes bf16 and float, "
      "Precision<FP16> takes fp16 and float; change the Precision or the tensors.");
};

template <class P, class List>
struct check_types_allowed;

template <class P, class... Ts>
struct check_types_allowed<P, type_list<Ts...>> {
  static constexpr bool value = true;
  static_assert((require_element_type<P, Ts>::value && ... && true));
};

/// What an engine asserts about its container, once that is a complete type.
template <class P, class Model>
struct check_model_precision {
  static constexpr bool value = true;
  static_assert(check_types_allowed<P, model_element_types<Model>>::value);
};

}  // namespace detail

/// Whether an engine of precision `P` takes the container `Model`: each tensor is of the type of
/// `P` or of `float`. Asks softly, without a hard error.
template <class P, class Model>
concept precision_fits =
    policy_of<P, precision_category> && detail::allows_all<P, model_element_types<Model>>;

}  // namespace zero::inline ZERO_ABI
