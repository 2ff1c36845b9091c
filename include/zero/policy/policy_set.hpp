// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/fwd.hpp>
#include <zero/model/type_list.hpp>
#include <zero/policy/categories.hpp>
#include <zero/policy/compatible.hpp>
#include <zero/policy/concepts.hpp>
#include <zero/policy/policy_list.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <type_traits>

namespace zero::inline ZERO_ABI {

namespace detail {

// What follows knows no category: it is told which there are, and they say the rest.

/// One policy of each category, the given one or the default, in the order of the categories. Never
/// fails: judging is the business of the checks below.
template <class List, class Categories>
struct canonical_list;

template <class List, class... Categories>
struct canonical_list<List, type_list<Categories...>> {
  using type = policy_list<policy_of_t<List, Categories>...>;
};

/// How many of `Ps` are choices of `Category`.
template <class Category, class... Ps>
inline constexpr std::size_t count_of =
    (std::size_t{0} + ... + static_cast<std::size_t>(policy_of<Ps, Category>));

/// A choice that an engine makes, and not one of a category that it does not know.
template <class P, class Categories>
inline constexpr bool is_choice_v = false;
template <class P, class... Categories>
inline constexpr bool is_choice_v<P, type_list<Categories...>> = (policy_of<P, Categories> || ...);

/// A policy whose category does not accept all of its kind.
template <class P>
concept has_acceptance_rule = policy<P> && requires { P::policy_category::template accepts<P>; };

/// What the rules of its category say about `P` alone.
template <class P>
inline constexpr bool accepted_v = true;
template <has_acceptance_rule P>
inline constexpr bool accepted_v<P> = P::policy_category::template accepts<P>;

/// Whether each policy of `Brought` is the only choice of its category in `List`.
template <class Brought, class List>
inline constexpr bool only_choices_v = false;
template <class... Brought, class... Ps>
inline constexpr bool only_choices_v<policy_list<Brought...>, policy_list<Ps...>> =
    ((count_of<typename Brought::policy_category, Ps...> == 1) && ... && true);

/// Whether nobody else in `List` chooses for the categories that `P` chooses for along with its
/// own.
template <class P, class List>
inline constexpr bool brings_alone_v =
    only_choices_v<typename brought_by<P>::type, typename with_brought<List>::type>;

/// Whether every argument is a policy that its category accepts, and none is given twice.
template <class List, class Categories>
inline constexpr bool valid_arguments_v = false;
template <class... Ps, class... Categories>
inline constexpr bool valid_arguments_v<policy_list<Ps...>, type_list<Categories...>> =
    (is_choice_v<Ps, type_list<Categories...>> && ... && true) && (accepted_v<Ps> && ... && true) &&
    ((count_of<Categories, Ps...> <= 1) && ...) &&
    (brings_alone_v<Ps, policy_list<Ps...>> && ... && true);

/// Judges one argument. One instantiation an argument, so that compilers name the culprit.
template <class P, class Categories>
struct require_policy {
  static constexpr bool value = true;
  static_assert(
      complete<P>,
      "zero::ZeroEngine: this policy is only declared; include the header that defines it: "
      "<zero/zero.hpp>, or <zero/cuda.cuh> for Nccl and Cuda.");
  static_assert(
      !complete<P> || policy<P>,
      "zero::ZeroEngine: this template argument is not a policy; after the container, pass "
      "Stage<N>, Offload<Tier>, Precision<Format>, Accumulate<Format>, Reduction<Kind>, an "
      "optimizer, a communicator, a device, or an empty type with a policy_category.");
  static_assert(!policy<P> || is_choice_v<P, Categories>,
                "zero::ZeroEngine: the policy_category of this policy is not one that an engine "
                "chooses by; use one of those in <zero/policy/categories.hpp>.");
};

/// Judges one argument by the rules of its category.
template <class P>
struct require_accepted : std::true_type {};

template <has_acceptance_rule P>
struct require_accepted<P> : P::policy_category::template check_accepted<P> {};

/// Judges what one argument brings with it.
template <class P, bool Alone>
struct require_brought : std::true_type {};

template <brings_policies P, bool Alone>
struct require_brought<P, Alone> : P::policy_category::template check_brought<Alone> {};

/// Judges the arguments one by one, and how many there are of each category.
template <class List, class Categories>
struct check_policies;

template <class... Ps, class... Categories>
struct check_policies<policy_list<Ps...>, type_list<Categories...>> {
  static constexpr bool value = true;
  static_assert((require_policy<Ps, type_list<Categories...>>::value && ... && true));
  static_assert((require_accepted<Ps>::value && ... && true));
  static_assert((Categories::template check_given_once<count_of<Categories, Ps...>>::value && ...));
  static_assert((require_brought<Ps, brings_alone_v<Ps, policy_list<Ps...>>>::value && ... &&
                 true));
};

/// Judges one choice beside another by the rules of its category.
template <class P, class Category, class Other, class OtherCategory>
struct require_allowed : std::true_type {};

template <class P, class Category, class Other, class OtherCategory>
  requires has_pair_rule<P, Category, Other, OtherCategory>
struct require_allowed<P, Category, Other, OtherCategory>
    : Category::template check_allowed<P, OtherCategory, Other> {};

/// Judges the choice of `Category` beside all the others of a canonical list.
template <class List, class Category, class Categories>
struct require_company;

template <class List, class Category, class... Others>
struct require_company<List, Category, type_list<Others...>> {
  static constexpr bool value = true;
  static_assert(
      (require_allowed<policy_of_t<List, Category>, Category, policy_of_t<List, Others>, Others>::
           value &&
       ...));
};

/// Judges what was chosen against each other: the rules across categories.
template <class List, class Categories>
struct check_compatible;

template <class List, class... Categories>
struct check_compatible<List, type_list<Categories...>> {
  static constexpr bool value = true;
  static_assert((require_company<List, Categories, type_list<Categories...>>::value && ...));
};

/// Whether the choice of `Category` goes with all the others of a canonical list.
template <class List, class Category, class Categories>
inline constexpr bool suits_all_v = false;
template <class List, class Category, class... Others>
inline constexpr bool suits_all_v<List, Category, type_list<Others...>> =
    (allowed_beside_v<policy_of_t<List, Category>, Category, policy_of_t<List, Others>, Others> &&
     ...);

/// Whether the choices of a canonical list go together.
template <class List, class Categories>
inline constexpr bool all_suit_v = false;
template <class List, class... Categories>
inline constexpr bool all_suit_v<List, type_list<Categories...>> =
    (suits_all_v<List, Categories, type_list<Categories...>> && ...);

/// The canonical list of a list that was judged. Rules across categories are judged only where the
/// list itself is in order, so that one mistake is one error.
template <class List, class Categories = engine_categories>
struct resolve_policies {
  using type = typename canonical_list<List, Categories>::type;
  static_assert(check_policies<List, Categories>::value);
  static_assert(std::conditional_t<valid_arguments_v<List, Categories>,
                                   check_compatible<type, Categories>,
                                   std::true_type>::value);
};

/// The same, asked softly.
template <class List, class Categories = engine_categories>
inline constexpr bool valid_policies_v = [] {
  if constexpr (valid_arguments_v<List, Categories>) {
    return all_suit_v<typename canonical_list<List, Categories>::type, Categories>;
  } else {
    return false;
  }
}();

}  // namespace detail

/// Whether `ZeroEngine<Model, Policies...>` is an engine, defaults included: every argument is a
/// policy, none is given twice, and no rule forbids a pair. Asks softly, without a hard error. A
/// policy that is only declared is none yet, so include the headers of those you ask about.
template <class... Policies>
concept valid_policies = detail::valid_policies_v<policy_list<Policies...>>;

/// The engine that shards the training of `Model` as the policies say. Policies come in any order,
/// at most one of each category; what is left out is the category's default. Every order of the
/// same policies names one and the same type.
/// @tparam Model the container of the parameters: a struct described by Boost.Hana's macros.
/// @tparam Policies see `docs/policies.md`; a wrong list does not compile, and one sentence says
/// why.
template <class Model, class... Policies>
using ZeroEngine =
    basic_zero_engine<Model, typename detail::resolve_policies<policy_list<Policies...>>::type>;

}  // namespace zero::inline ZERO_ABI
