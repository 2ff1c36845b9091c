// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/version.hpp>

#include <type_traits>

namespace zero::inline ZERO_ABI {

namespace detail {

/// A defined type, and not only a declared one.
template <class T>
concept complete = requires { sizeof(T); };

}  // namespace detail

/// A policy says one thing about an engine, at compile time. It is an empty type, so that it takes
/// no room, can be made out of nothing and holds no state that two engines could disagree about;
/// what it says are `static constexpr` members and member types. Behaviour lives in the plan, not
/// here. Its category is a tag type and not an enumerator, so that a program's own policy can join
/// one without a change to this library.
///
/// Minimal definition: `struct P { using policy_category = some_category; };`
///
/// Models: `Stage`, `PerUnit`, `Offload`, `Precision`, `Accumulate`, `Reduction`, the optimizers,
/// the communicators and the devices. A type that is only declared is no policy yet: include its
/// header.
template <class T>
concept policy =
    detail::complete<T> && std::is_same_v<T, std::remove_cvref_t<T>> && std::is_empty_v<T> &&
    std::is_default_constructible_v<T> && requires { typename T::policy_category; };

/// A policy that is a choice of `Category`, as in `policy_of<Stage<2>, stage_category>`.
template <class T, class Category>
concept policy_of = policy<T> && std::is_same_v<typename T::policy_category, Category>;

}  // namespace zero::inline ZERO_ABI
