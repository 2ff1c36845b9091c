// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/model/type_list.hpp>
#include <zero/policy/categories.hpp>
#include <zero/policy/policy_list.hpp>
#include <zero/policy/policy_set.hpp>
#include <zero/policy/stage.hpp>

#include <cstddef>
#include <type_traits>

namespace zero::test {

template <int Number>
struct Colour;

/// A category that no engine knows, with every kind of rule: what a new category's file says.
struct colour_category {
  using default_policy = Colour<0>;

  template <std::size_t Count>
  struct check_given_once {
    static constexpr bool value = true;
    static_assert(Count <= 1, "zero::test: Colour<N> was given more than once; keep one.");
  };

  template <bool Alone>
  struct check_brought {
    static constexpr bool value = true;
    static_assert(Alone,
                  "zero::test: Staged<N> brings Stage<N> with it; remove one of the two stages.");
  };

  template <class P>
  static constexpr bool accepts = P::value >= 0;

  template <class P>
  struct check_accepted {
    static constexpr bool value = true;
    static_assert(accepts<P>, "zero::test: there is no such colour; use Colour<0> or more.");
  };

  template <class P, class Category, class Other>
  static constexpr bool allows =
      !std::is_same_v<Other, Stage<3>> || std::is_same_v<P, default_policy>;

  template <class P, class Category, class Other>
  struct check_allowed {
    static constexpr bool value = true;
    static_assert(allows<P, Category, Other>,
                  "zero::test: Stage<3> is colourless; use Colour<0> with it.");
  };
};

template <int Number>
struct Colour {
  using policy_category = colour_category;
  static constexpr int value = Number;
};

/// A colour that chooses the stage as well.
template <int Number>
struct Staged {
  using policy_category = colour_category;
  using brings = policy_list<Stage<Number>>;
  static constexpr int value = Number;
};

/// A list of categories with another one at its end.
template <class List, class Category>
struct append_category;

template <class... Categories, class Category>
struct append_category<type_list<Categories...>, Category> {
  using type = type_list<Categories..., Category>;
};

/// The engine's categories and the colours: the row of a new category.
using coloured_categories = typename append_category<engine_categories, colour_category>::type;

}  // namespace zero::test
