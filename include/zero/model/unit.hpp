// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>
#include <zero/model/traverse.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace zero::inline ZERO_ABI {

namespace detail {

/// What user code sees of one unit of a member of type `T`: optionals and the outermost sequence
/// are looked through.
template <class T, bool Sequences = true>
struct unit_type {
  using type = T;
};

template <class T, bool Sequences>
struct unit_type<std::optional<T>, Sequences> : unit_type<T, Sequences> {};

template <class T>
  requires is_sequence_v<T>
struct unit_type<T, true> : unit_type<typename sequence_element<T>::type, false> {};

/// Calls `f(object)` for the unit in `element`, if its optionals hold one.
template <class Element, class F>
constexpr void for_present(Element& element, F& f) {
  if constexpr (is_optional_v<std::remove_const_t<Element>>) {
    if (element) {
      for_present(*element, f);
    }
  } else {
    f(element);
  }
}

/// Calls `f(object)` for each unit of one member of a container, in order.
template <class Member, class F>
constexpr void for_each_unit_of(Member& member, F& f) {
  using type = std::remove_const_t<Member>;
  if constexpr (is_optional_v<type>) {
    if (member) {
      for_each_unit_of(*member, f);
    }
  } else if constexpr (is_sequence_v<type>) {
    for (auto& element : member) {
      for_present(element, f);
    }
  } else {
    f(member);
  }
}

/// Calls `f(object)` for each unit of a container, in order.
template <class Model, class F>
constexpr void for_each_unit(Model& model, F& f) {
  members_of<Model>::for_each(model, [&f](auto& member) { for_each_unit_of(member, f); });
}

/// The number of units of one member: constant time unless elements are optional.
template <class Member>
[[nodiscard]] constexpr std::int32_t count_units(Member const& member) {
  if constexpr (is_optional_v<Member>) {
    return member ? count_units(*member) : 0;
  } else if constexpr (is_sequence_v<Member>) {
    if constexpr (is_optional_v<typename sequence_element<Member>::type>) {
      std::int32_t units = 0;
      auto count = [&units](auto const&) { ++units; };
      for_each_unit_of(member, count);
      return units;
    } else {
      return static_cast<std::int32_t>(std::size(member));
    }
  } else {
    return 1;
  }
}

inline constexpr std::int64_t position_out_of_range = -1;
inline constexpr std::int64_t position_empty = -2;

/// Position of element `index` among the units of `member`, or one of the two values above.
template <class Member>
[[nodiscard]] constexpr std::int64_t position_of(Member const& member, std::int64_t index) {
  if constexpr (is_optional_v<Member>) {
    return member ? position_of(*member, index) : position_empty;
  } else if constexpr (is_sequence_v<Member>) {
    if (index < 0 || index >= static_cast<std::int64_t>(std::size(member))) {
      return position_out_of_range;
    }
    if constexpr (is_optional_v<typename sequence_element<Member>::type>) {
      std::int64_t position = 0;
      for (std::int64_t i = 0; i < index; ++i) {
        auto count = [&position](auto const&) { ++position; };
        for_present(member[static_cast<std::size_t>(i)], count);
      }
      bool present = false;
      auto see = [&present](auto const&) { present = true; };
      for_present(member[static_cast<std::size_t>(index)], see);
      return present ? position : position_empty;
    } else {
      return index;
    }
  } else {
    return index == 0 ? 0 : position_out_of_range;
  }
}

/// The number of units before those of a member, or -1 if the description does not list the member.
template <class Model, class Member>
[[nodiscard]] constexpr std::int32_t first_unit(Model const& model, Member Model::* pointer) {
  auto const& wanted = model.*pointer;
  std::int32_t first = 0;
  bool found = false;
  members_of<Model>::for_each(model, [&](auto const& member) {
    if (found) {
      return;
    }
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, Member>) {
      found = std::addressof(member) == std::addressof(wanted);
    }
    if (!found) {
      first += count_units(member);
    }
  });
  return found ? first : -1;
}

}  // namespace detail

/// Whether units of a member of type `Member` are told apart by an index: arrays and vectors.
template <class Member>
inline constexpr bool is_indexed_v = [] {
  if constexpr (detail::is_optional_v<Member>) {
    return is_indexed_v<typename Member::value_type>;
  } else {
    return detail::is_sequence_v<Member>;
  }
}();

namespace detail {

/// The number of elements of a sequence, looked for through optionals; 1 for other members.
template <class Member>
[[nodiscard]] std::int64_t extent_of(Member const& member) {
  if constexpr (is_optional_v<Member>) {
    return member ? extent_of(*member) : 0;
  } else if constexpr (is_sequence_v<Member>) {
    return static_cast<std::int64_t>(std::size(member));
  } else {
    return 1;
  }
}

/// The name of a member; empty if the description does not list it.
template <class Model, class Member>
[[nodiscard]] std::string name_of_member(Model const& model, Member Model::* pointer) {
  std::string name;
  members_of<Model>::for_each_named(model, [&](char const* member_name, auto const& member) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, Member>) {
      if (std::addressof(member) == std::addressof(model.*pointer)) {
        name = member_name;
      }
    }
  });
  return name;
}

/// The error of a look-up: says which member and element, and what is wrong with it.
template <class Model, class Member>
[[noreturn]] void throw_no_unit(Model const& model,
                                Member Model::* pointer,
                                std::int64_t index,
                                std::int64_t position) {
  auto const name = name_of_member(model, pointer);
  if (name.empty()) {
    throw logic_error(
        "zero: this member is not listed in the description of its struct; add it to "
        "BOOST_HANA_DEFINE_STRUCT.");
  }
  auto const element = name + "[" + std::to_string(index) + "]";
  if (position == position_empty) {
    throw logic_error("zero: " + (is_indexed_v<Member> && !is_optional_v<Member> ? element : name) +
                      " is an empty optional and has no unit; visit it only where it has a value.");
  }
  auto const extent = std::to_string(extent_of(model.*pointer));
  throw logic_error("zero: " + element + " is out of range; " + name +
                    (is_indexed_v<Member>
                         ? " has " + extent + (extent == "1" ? " element." : " elements.")
                         : " is one unit and takes no index."));
}

}  // namespace detail

/// The type of the object that a visit of a member of type `Member` sees: `Block` for a `Block`, an
/// array, vector or optional of `Block`.
template <class Member>
using unit_type_t = typename detail::unit_type<Member>::type;

/// The number of units that a member stands for: one for a struct or a tensor, one an element for
/// an array or vector, none for an empty optional.
template <class Model, class Member>
[[nodiscard]] constexpr std::int32_t unit_count_of(Model const& model, Member Model::* pointer) {
  return detail::count_units(model.*pointer);
}

/// The number of units of a container.
template <class Model>
[[nodiscard]] constexpr std::int32_t unit_count(Model const& model) {
  std::int32_t units = 0;
  detail::members_of<Model>::for_each(
      model, [&units](auto const& member) { units += detail::count_units(member); });
  return units;
}

/// The unit of the member that `pointer` names, or of its element `index`. Units are numbered in
/// the order of the description: each member is a unit, or each element of a member that is an
/// array or a vector.
/// Allocates nothing, and takes a comparison of addresses a member (where elements are optional,
/// also a look at those before). Not collective.
/// @param index which element of an array or vector, by its place there; 0 for other members.
/// @throws logic_error for an index out of range, an empty optional, or a member that the
/// description of the struct does not list.
template <class Model, class Member>
[[nodiscard]] constexpr std::int32_t find_unit(Model const& model,
                                               Member Model::* pointer,
                                               std::int64_t index = 0) {
  auto const first = detail::first_unit(model, pointer);
  auto const position =
      first < 0 ? std::int64_t{first} : detail::position_of(model.*pointer, index);
  if (position < 0) {
    detail::throw_no_unit(model, pointer, index, position);
  }
  return first + static_cast<std::int32_t>(position);
}

/// The address of the object of each unit, of type `unit_type_t` of its member, in the order of the
/// units. Addresses hold until the container is moved or one of its vectors changes.
template <class Model>
[[nodiscard]] std::vector<void*> unit_addresses(Model& model) {
  std::vector<void*> addresses;
  auto add = [&addresses](auto& object) { addresses.push_back(std::addressof(object)); };
  detail::for_each_unit(model, add);
  return addresses;
}

}  // namespace zero::inline ZERO_ABI
