// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/tensor.hpp>
#include <zero/model/hana.hpp>
#include <zero/model/type_list.hpp>
#include <zero/version.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

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
  /// The types of the members of `Object`, without const.
  template <class Object>
  using types = type_list<std::remove_cvref_t<decltype(Accessors{}(std::declval<Object&>()))>...>;

  /// Whether the accessors give the members themselves, and not copies of them.
  template <class Object>
  static constexpr bool refers =
      (std::is_lvalue_reference_v<decltype(Accessors{}(std::declval<Object&>()))> && ... && true);

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

/// The rule of structs that are adapted by functions, with its sentence.
template <class S, class Members>
struct require_references {
  static constexpr bool value = true;
  static_assert(Members::template refers<S>,
                "zero::describe: an accessor of this struct returns a copy of the member; make the "
                "functions in BOOST_HANA_ADAPT_ADT return references, or use "
                "BOOST_HANA_ADAPT_STRUCT.");
};

/// The rule of containers as a whole, with its sentence.
template <class Model>
struct require_container {
  static constexpr bool value = true;
  static_assert(
      is_struct_v<Model>,
      "zero::describe: the container of the parameters must be a Hana struct; define it with "
      "BOOST_HANA_DEFINE_STRUCT, or adapt it with BOOST_HANA_ADAPT_STRUCT.");
};

/// Chooses the member list of `S`: an empty one where one of the rules above is broken, so that all
/// that is said of it is their sentence.
template <class S>
struct checked_members {
  static_assert(require_container<S>::value);
  using type = member_list<boost::hana::tuple<>>;
};

template <class S>
  requires is_struct_v<S>
struct checked_members<S> {
  using all = member_list<decltype(boost::hana::accessors<S>())>;
  static_assert(require_references<S, all>::value);
  using type = std::conditional_t<all::template refers<S>, all, member_list<boost::hana::tuple<>>>;
};

/// The member list of `S`, a Hana struct, const or not.
template <class S>
using members_of = typename checked_members<std::remove_const_t<S>>::type;

/// The types of the members of `S`, a Hana struct, in a `type_list`.
template <class S>
using member_types_of = typename members_of<S>::template types<S>;

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

/// Refuses a type that is none of those. A free function: inside a member template, clang 14 adds
/// an error of its own to the sentence.
template <class T>
constexpr void refuse_member() {
  static_assert(require_describable<T>::value);
}

/// Calls `f(tensor)` for each tensor in an object, at any depth, in order of declaration. It calls
/// itself through the member lists, without closures between, because a step of constant evaluation
/// saved here is saved for every tensor of a model.
template <class F>
struct tensor_visitor {
  F& f;

  template <class Object>
  constexpr void operator()(Object& object) const {
    using type = std::remove_const_t<Object>;
    if constexpr (is_tensor_v<type>) {
      f(object);
    } else if constexpr (is_struct_v<type>) {
      members_of<type>::for_each(object, *this);
    } else if constexpr (is_optional_v<type>) {
      if (object) {
        (*this)(*object);
      }
    } else if constexpr (is_sequence_v<type>) {
      for (auto& element : object) {
        (*this)(element);
      }
    } else {
      refuse_member<type>();
    }
  }
};

/// Calls `f(tensor)` for each tensor in `object`, at any depth, in order of declaration.
template <class Object, class F>
constexpr void for_each_tensor(Object& object, F& f) {
  tensor_visitor<F>{f}(object);
}

}  // namespace zero::inline ZERO_ABI::detail
