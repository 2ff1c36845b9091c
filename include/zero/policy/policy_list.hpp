// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/policy/concepts.hpp>
#include <zero/version.hpp>

#include <type_traits>

namespace zero::inline ZERO_ABI {

/// Policies as one type. An engine's has one of each category, in the order of `engine_categories`.
template <class... Policies>
struct policy_list {};

namespace detail {

template <class Category, class... Ps>
struct select_policy {
  using type = typename Category::default_policy;
};

template <class Category, class P, class... Ps>
struct select_policy<Category, P, Ps...> : std::conditional_t<policy_of<P, Category>,
                                                              std::type_identity<P>,
                                                              select_policy<Category, Ps...>> {};

template <class List, class Category>
struct select_policy_of;

template <class... Ps, class Category>
struct select_policy_of<policy_list<Ps...>, Category> : select_policy<Category, Ps...> {};

}  // namespace detail

/// The choice of `Category` in a `policy_list`: the first that it holds, or the category's default.
template <class List, class Category>
using policy_of_t = typename detail::select_policy_of<List, Category>::type;

}  // namespace zero::inline ZERO_ABI
