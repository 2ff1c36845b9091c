// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/fwd.hpp>
#include <zero/policy/accumulate.hpp>
#include <zero/policy/compatible.hpp>
#include <zero/policy/concepts.hpp>
#include <zero/policy/offload.hpp>
#include <zero/policy/precision.hpp>
#include <zero/policy/reduction.hpp>
#include <zero/policy/stage.hpp>
#include <zero/version.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace zero::inline ZERO_ABI {

namespace detail {

/// How many of `Ps` are choices of `Category`.
template <class Category, class... Ps>
inline constexpr std::size_t count_of =
    (std::size_t{0} + ... + static_cast<std::size_t>(policy_of<Ps, Category>));

/// The first of `Ps` that is a choice of `Category`, or `Default`.
template <class Category, class Default, class... Ps>
struct select_policy {
  using type = Default;
};

template <class Category, class Default, class P, class... Ps>
struct select_policy<Category, Default, P, Ps...>
    : std::conditional_t<policy_of<P, Category>,
                         std::type_identity<P>,
                         select_policy<Category, Default, Ps...>> {};

template <class Category, class Default, class... Ps>
using select_policy_t = typename select_policy<Category, Default, Ps...>::type;

/// What the engine needs of an optimizer: the number of state arrays and an update of one element.
/// Optimizers that need whole matrices have no such update.
template <class O>
concept updates_elements = requires {
  { O::moments } -> std::convertible_to<int>;
  typename O::options;
  typename O::scalars;
};

/// Chooses one policy of each category, the given one or the default, in the canonical order. Never
/// fails: judging is the business of the checks below.
template <class... Ps>
struct choose_policies {
  using stage = select_policy_t<stage_category, default_policies::stage, Ps...>;
  using offload = select_policy_t<offload_category, default_policies::offload, Ps...>;
  using precision = select_policy_t<precision_category, default_policies::precision, Ps...>;
  using accumulate = select_policy_t<accumulate_category, default_policies::accumulate, Ps...>;
  using reduction = select_policy_t<reduction_category, default_policies::reduction, Ps...>;
  using optimizer = select_policy_t<optimizer_category, default_policies::optimizer, Ps...>;
  using communicator =
      select_policy_t<communicator_category, default_policies::communicator, Ps...>;
  using device = select_policy_t<device_category, default_policies::device, Ps...>;

  template <class Model>
  using engine = basic_zero_engine<Model,
                                   stage,
                                   offload,
                                   precision,
                                   accumulate,
                                   reduction,
                                   optimizer,
                                   communicator,
                                   device>;
};

/// A choice that an engine makes, and not one of a category that it does not know.
template <class P>
concept engine_policy = policy_of<P, stage_category> || policy_of<P, offload_category> ||
                        policy_of<P, precision_category> || policy_of<P, accumulate_category> ||
                        policy_of<P, reduction_category> || policy_of<P, optimizer_category> ||
                        policy_of<P, communicator_category> || policy_of<P, device_category>;

/// Judges one argument. One instantiation an argument, so that compilers name the culprit.
template <class P>
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
  static_assert(!policy<P> || engine_policy<P>,
                "zero::ZeroEngine: the policy_category of this policy is not one that an engine "
                "chooses by; use one of those in <zero/policy/concepts.hpp>.");
};

/// Judges one argument that is an optimizer.
template <class P>
struct require_element_wise {
  static constexpr bool value = true;
  static_assert(
      !policy_of<P, optimizer_category> || updates_elements<P>,
      "zero::ZeroEngine: this optimizer does not update element by element; optimizers that "
      "need whole matrices are not supported, use AdamW, Sgd or Lion, or an optimizer with "
      "moments, options, scalars, prepare and update.");
};

template <class... Ps>
inline constexpr bool given_once_v =
    count_of<stage_category, Ps...> <= 1 && count_of<offload_category, Ps...> <= 1 &&
    count_of<precision_category, Ps...> <= 1 && count_of<accumulate_category, Ps...> <= 1 &&
    count_of<reduction_category, Ps...> <= 1 && count_of<optimizer_category, Ps...> <= 1 &&
    count_of<communicator_category, Ps...> <= 1 && count_of<device_category, Ps...> <= 1;

/// Judges the list: every argument is a policy, and none is given twice.
template <class... Ps>
struct check_policies {
  static constexpr bool value = true;
  static_assert((require_policy<Ps>::value && ... && true));
  static_assert((require_element_wise<Ps>::value && ... && true));
  static_assert(count_of<stage_category, Ps...> <= 1,
                "zero::ZeroEngine: Stage<N> was given more than once; keep one.");
  static_assert(count_of<offload_category, Ps...> <= 1,
                "zero::ZeroEngine: Offload<Tier> was given more than once; keep one.");
  static_assert(count_of<precision_category, Ps...> <= 1,
                "zero::ZeroEngine: Precision<Format> was given more than once; keep one.");
  static_assert(count_of<accumulate_category, Ps...> <= 1,
                "zero::ZeroEngine: Accumulate<Format> was given more than once; keep one.");
  static_assert(count_of<reduction_category, Ps...> <= 1,
                "zero::ZeroEngine: Reduction<Kind> was given more than once; keep one.");
  static_assert(count_of<optimizer_category, Ps...> <= 1,
                "zero::ZeroEngine: an optimizer was given more than once; keep one.");
  static_assert(count_of<communicator_category, Ps...> <= 1,
                "zero::ZeroEngine: a communicator was given more than once; keep one.");
  static_assert(count_of<device_category, Ps...> <= 1,
                "zero::ZeroEngine: a device was given more than once; keep one.");
};

/// Judges what was chosen against each other: the rules across categories.
template <class Communicator, class Device>
struct check_compatible {
  static constexpr bool value = true;
  static_assert(
      serves_device_v<Communicator, Device>,
      "zero::ZeroEngine: this communicator cannot carry the memory of this device; Nccl needs "
      "the policy Cuda beside it, on the host use Local.");
};

template <class... Ps>
inline constexpr bool valid_arguments_v =
    (engine_policy<Ps> && ... && true) && given_once_v<Ps...> &&
    ((!policy_of<Ps, optimizer_category> || updates_elements<Ps>) && ... && true);

/// The engine of a container and an argument list. Rules across categories are judged only where
/// the list itself is in order, so that one mistake is one error.
template <class Model, class... Ps>
struct resolve_policies {
  using chosen = choose_policies<Ps...>;
  using engine = typename chosen::template engine<Model>;
  static_assert(check_policies<Ps...>::value);
  static_assert(
      std::conditional_t<valid_arguments_v<Ps...>,
                         check_compatible<typename chosen::communicator, typename chosen::device>,
                         std::true_type>::value);
};

}  // namespace detail

/// Whether `ZeroEngine<Model, Policies...>` is an engine, defaults included: every argument is a
/// policy, none is given twice, and no rule forbids a pair. Asks softly, without a hard error. A
/// policy that is only declared is none yet, so include the headers of those you ask about.
template <class... Policies>
concept valid_policies =
    detail::valid_arguments_v<Policies...> &&
    serves_device_v<typename detail::choose_policies<Policies...>::communicator,
                    typename detail::choose_policies<Policies...>::device>;

/// The engine that shards the training of `Model` as the policies say. Policies come in any order,
/// at most one of each category; what is left out is as in `default_policies`. Every order of the
/// same policies names one and the same type.
/// @tparam Model the container of the parameters: a struct described by Boost.Hana's macros.
/// @tparam Policies see `docs/policies.md`; a wrong list does not compile, and one sentence says
/// why.
template <class Model, class... Policies>
using ZeroEngine = typename detail::resolve_policies<Model, Policies...>::engine;

}  // namespace zero::inline ZERO_ABI
