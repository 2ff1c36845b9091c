// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/tensor.hpp>
#include <zero/model/traverse.hpp>
#include <zero/model/type_list.hpp>
#include <zero/version.hpp>

#include <cstdint>
#include <optional>
#include <type_traits>

namespace zero::inline ZERO_ABI {

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

template <class List, class Types>
struct collect_all;

template <class List>
struct collect_all<List, type_list<>> {
  using type = List;
};

template <class List, class T, class... Ts>
struct collect_all<List, type_list<T, Ts...>>
    : collect_all<typename collect_element_types<List, T>::type, type_list<Ts...>> {};

template <class List, class T>
  requires is_struct_v<T>
struct collect_element_types<List, T> : collect_all<List, member_types_of<T>> {};

}  // namespace detail

/// The element types of the tensors in a container, each once, in the order of their first tensor,
/// counting members that may be empty at run time.
template <class Model>
using model_element_types =
    typename detail::collect_element_types<type_list<>, std::remove_const_t<Model>>::type;

}  // namespace zero::inline ZERO_ABI
