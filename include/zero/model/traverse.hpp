// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/tensor.hpp>

#include <boost/hana/accessors.hpp>
#include <boost/hana/concept/struct.hpp>
#include <boost/hana/pair.hpp>
#include <boost/hana/string.hpp>
#include <boost/hana/tuple.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace zero::detail {

template <class T>
inline constexpr bool is_tensor_v = false;
template <class T, std::int64_t... Extents>
inline constexpr bool is_tensor_v<Tensor<T, Extents...>> = true;

template <class T>
inline constexpr bool is_optional_v = false;
template <class T>
inline constexpr bool is_optional_v<std::optional<T>> = true;

/// What a sequence of equal members holds; `void` for what is no sequence.
template <class T>
struct sequence_element {
  using type = void;
};

template <class T, std::size_t N>
struct sequence_element<T[N]> {
  using type = T;
};

template <class T, std::size_t N>
struct sequence_element<std::array<T, N>> {
  using type = T;
};

template <class T, class Allocator>
struct sequence_element<std::vector<T, Allocator>> {
  using type = T;
};

template <class T>
inline constexpr bool is_sequence_v = !std::is_void_v<typename sequence_element<T>::type>;

template <class T>
inline constexpr bool is_struct_v = boost::hana::Struct<T>::value;

/// The members of a Hana struct: pairs of a name and an accessor, taken apart into plain packs.
template <class Accessors>
struct member_list;

template <class... Names, class... Accessors>
struct member_list<boost::hana::tuple<boost::hana::pair<Names, Accessors>...>> {
  /// Calls `f(member)` for each member of `object`, in order of declaration.
  template <class Object, class F>
  static constexpr void for_each(Object& object, F&& f) {
    (f(Accessors{}(object)), ...);
  }

  /// Calls `f(name, member)`, the name a string that ends in a null character.
  template <class Object, class F>
  static constexpr void for_each_named(Object& object, F&& f) {
    (f(Names::c_str(), Accessors{}(object)), ...);
  }
};

/// The member list of `S`, a Hana struct, const or not.
template <class S>
using members_of = member_list<decltype(boost::hana::accessors<std::remove_const_t<S>>())>;

/// The rule of containers, with its sentence.
template <class T>
struct require_describable {
  static constexpr bool value = true;
  static_assert(
      is_tensor_v<T> || is_optional_v<T> || is_sequence_v<T> || is_struct_v<T>,
      "zero::describe: this type is neither a zero::Tensor, nor a Hana struct, nor an array, "
      "vector or optional of those; name its members with BOOST_HANA_DEFINE_STRUCT or "
      "BOOST_HANA_ADAPT_STRUCT, or leave it out of the macro of the struct that holds it.");
};

/// Calls `f(tensor)` for each tensor in `object`, at any depth, in order of declaration.
template <class Object, class F>
constexpr void for_each_tensor(Object& object, F& f) {
  using type = std::remove_const_t<Object>;
  if constexpr (is_tensor_v<type>) {
    f(object);
  } else if constexpr (is_optional_v<type>) {
    if (object) {
      for_each_tensor(*object, f);
    }
  } else if constexpr (is_sequence_v<type>) {
    for (auto& element : object) {
      for_each_tensor(element, f);
    }
  } else if constexpr (is_struct_v<type>) {
    members_of<type>::for_each(object, [&f](auto& member) { for_each_tensor(member, f); });
  } else {
    static_assert(require_describable<type>::value);
  }
}

}  // namespace zero::detail
