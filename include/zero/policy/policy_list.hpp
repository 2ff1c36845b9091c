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

/// A policy that chooses for other categories too, by its `policy_list` named `brings`.
template <class P>
concept brings_policies = policy<P> && requires { typename P::brings; };

/// What a policy brings with it, as a `policy_list`.
template <class P>
struct brought_by {
  using type = policy_list<>;
};

template <brings_policies P>
struct brought_by<P> {
  using type = typename P::brings;
};

/// The first list with all others behind it.
template <class First, class... Lists>
struct join_lists {
  using type = First;
};

template <class... Ps, class... Qs, class... Lists>
struct join_lists<policy_list<Ps...>, policy_list<Qs...>, Lists...>
    : join_lists<policy_list<Ps..., Qs...>, Lists...> {};

/// A list and, behind it, what its policies bring with them.
template <class List>
struct with_brought;

template <class... Ps>
struct with_brought<policy_list<Ps...>>
    : join_lists<policy_list<Ps...>, typename brought_by<Ps>::type...> {};

template <class List, class Category>
struct select_policy_of;

template <class... Ps, class Category>
struct select_policy_of<policy_list<Ps...>, Category> : select_policy<Category, Ps...> {};

}  // namespace detail

/// The choice of `Category` in a `policy_list`: the first that it holds, one that another policy
/// brings with it, or the category's default.
template <class List, class Category>
using policy_of_t =
    typename detail::select_policy_of<typename detail::with_brought<List>::type, Category>::type;

}  // namespace zero::inline ZERO_ABI
