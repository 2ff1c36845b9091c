// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/policy/concepts.hpp>
#include <zero/policy/policy_list.hpp>
#include <zero/version.hpp>

#include <type_traits>

namespace zero::inline ZERO_ABI {

namespace detail {

/// `Category` has a rule about its choice `P` beside `Other`, a choice of another category.
template <class P, class Category, class Other, class OtherCategory>
concept has_pair_rule = !std::is_same_v<Category, OtherCategory> &&
                        requires { Category::template allows<P, OtherCategory, Other>; };

/// What the rules of `Category` say about its choice `P` beside `Other`.
template <class P, class Category, class Other, class OtherCategory>
inline constexpr bool allowed_beside_v = true;
template <class P, class Category, class Other, class OtherCategory>
  requires has_pair_rule<P, Category, Other, OtherCategory>
inline constexpr bool allowed_beside_v<P, Category, Other, OtherCategory> =
    Category::template allows<P, OtherCategory, Other>;

/// Whether a list holds a choice of `Category`.
template <class List, class Category>
inline constexpr bool holds_choice_v = false;
template <class... Ps, class Category>
inline constexpr bool holds_choice_v<policy_list<Ps...>, Category> =
    (policy_of<Ps, Category> || ... || false);

/// Whether `P` brings a choice of `Category` with it.
template <class P, class Category>
inline constexpr bool brings_choice_v = holds_choice_v<typename brought_by<P>::type, Category>;

}  // namespace detail

/// Whether one engine can have both policies `A` and `B`: they are choices of two categories,
/// neither brings a choice of the other's category, and no rule of these forbids the pair. A
/// predicate: it never fails to compile, and is false for what is no policy.
/// @see valid_policies for whole argument lists, defaults included.
template <class A, class B>
inline constexpr bool compatible_v = [] {
  if constexpr (policy<A> && policy<B>) {
    using category_a = typename A::policy_category;
    using category_b = typename B::policy_category;
    return !std::is_same_v<category_a, category_b> && !detail::brings_choice_v<A, category_b> &&
           !detail::brings_choice_v<B, category_a> &&
           detail::allowed_beside_v<A, category_a, B, category_b> &&
           detail::allowed_beside_v<B, category_b, A, category_a>;
  } else {
    return false;
  }
}();

}  // namespace zero::inline ZERO_ABI
