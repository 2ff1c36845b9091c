// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/model/traverse.hpp>

#include <type_traits>
#include <utility>

namespace zero {

/// A list of types.
template <class... Ts>
struct type_list {
  static constexpr std::size_t size = sizeof...(Ts);  ///< how many
};

namespace detail {

template <class List, class T>
struct append_unique;

template <class... Ts, class T>
struct append_unique<type_list<Ts...>, T> {
  using type =
      std::conditional_t<(std::is_same_v<Ts, T> || ...), type_list<Ts...>, type_list<Ts..., T>>;
};

/// Appends the element types in `T` that `List` does not hold yet.
template <class List, class T>
struct collect_element_types {
  using type = List;
};

template <class List, class T, std::int64_t... Extents>
struct collect_element_types<List, Tensor<T, Extents...>> : append_unique<List, T> {};

template <class List, class T>
struct collect_element_types<List, std::optional<T>> : collect_element_types<List, T> {};

template <class List, class T>
  requires is_sequence_v<T>
struct collect_element_types<List, T>
    : collect_element_types<List, typename sequence_element<T>::type> {};

template <class List, class... Ts>
struct collect_all {
  using type = List;
};

template <class List, class T, class... Ts>
struct collect_all<List, T, Ts...>
    : collect_all<typename collect_element_types<List, T>::type, Ts...> {};

template <class List, class S, class Members>
struct collect_members;

template <class List, class S, class... Names, class... Accessors>
struct collect_members<List,
                       S,
                       member_list<boost::hana::tuple<boost::hana::pair<Names, Accessors>...>>>
    : collect_all<List, std::remove_cvref_t<decltype(Accessors{}(std::declval<S&>()))>...> {};

template <class List, class T>
  requires is_struct_v<T>
struct collect_element_types<List, T> : collect_members<List, T, members_of<T>> {};

}  // namespace detail

/// The element types of the tensors in a container, each once, in the order of their first tensor,
/// counting members that may be empty at run time.
template <class Model>
using model_element_types =
    typename detail::collect_element_types<type_list<>, std::remove_const_t<Model>>::type;

}  // namespace zero
