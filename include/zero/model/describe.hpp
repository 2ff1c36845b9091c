// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/core/tensor.hpp>
#include <zero/model/hana.hpp>
#include <zero/model/parameter.hpp>
#include <zero/model/traverse.hpp>
#include <zero/model/unit.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

namespace zero::inline ZERO_ABI {

namespace detail {

/// The number of tensors in every object of type `T`, or -1 where vectors and optionals in it
/// decide.
template <class T>
[[nodiscard]] constexpr std::int64_t fixed_tensor_count();

template <class... Ts>
[[nodiscard]] constexpr std::int64_t fixed_tensor_sum(type_list<Ts...>) {
  bool const fixed = ((fixed_tensor_count<Ts>() >= 0) && ... && true);
  return fixed ? (fixed_tensor_count<Ts>() + ... + std::int64_t{0}) : -1;
}

template <class T>
[[nodiscard]] constexpr std::int64_t fixed_tensor_count() {
  if constexpr (is_tensor_v<T>) {
    return 1;
  } else if constexpr (is_struct_v<T>) {
    return fixed_tensor_sum(member_types_of<T>{});
  } else {
    return -1;
  }
}

/// The number of tensors in `object`, counted by types where that is possible.
template <class Object>
[[nodiscard]] constexpr std::size_t count_tensors(Object const& object) {
  constexpr std::int64_t fixed = fixed_tensor_count<Object>();
  if constexpr (fixed >= 0) {
    return static_cast<std::size_t>(fixed);
  } else if constexpr (is_struct_v<Object>) {
    std::size_t tensors = 0;
    members_of<Object>::for_each(
        object, [&tensors](auto const& member) { tensors += count_tensors(member); });
    return tensors;
  } else if constexpr (is_optional_v<Object>) {
    return object ? count_tensors(*object) : 0;
  } else if constexpr (is_sequence_v<Object>) {
    constexpr std::int64_t each = fixed_tensor_count<typename sequence_element<Object>::type>();
    std::size_t tensors = 0;
    if constexpr (each >= 0) {
      tensors = std::size(object) * static_cast<std::size_t>(each);
    } else {
      for (auto const& element : object) {
        tensors += count_tensors(element);
      }
    }
    return tensors;
  } else {
    return 0;
  }
}

/// Calls `f(name, object)` for each unit, `name` as in `unit_names`.
template <class Member, class F>
void for_each_named_unit_of(std::string const& name, Member& member, F& f) {
  using type = std::remove_const_t<Member>;
  if constexpr (is_optional_v<type>) {
    if (member) {
      for_each_named_unit_of(name, *member, f);
    }
  } else if constexpr (is_sequence_v<type>) {
    std::size_t index = 0;
    for (auto& element : member) {
      auto const element_name = name + "." + std::to_string(index++);
      auto call = [&](auto& object) { f(element_name, object); };
      for_present(element, call);
    }
  } else {
    f(name, member);
  }
}

/// Calls `f(name, tensor)` for each tensor in `object`, whose own name is `name`.
template <class Object, class F>
void for_each_named_tensor(std::string const& name, Object& object, F& f) {
  using type = std::remove_const_t<Object>;
  if constexpr (is_tensor_v<type>) {
    f(name, object);
  } else if constexpr (is_optional_v<type>) {
    if (object) {
      for_each_named_tensor(name, *object, f);
    }
  } else if constexpr (is_sequence_v<type>) {
    std::size_t index = 0;
    for (auto& element : object) {
      for_each_named_tensor(name + "." + std::to_string(index++), element, f);
    }
  } else if constexpr (is_struct_v<type>) {
    members_of<type>::for_each_named(object, [&](char const* member_name, auto& member) {
      for_each_named_tensor(name + "." + member_name, member, f);
    });
  } else {
    refuse_member<type>();
  }
}

}  // namespace detail

/// The parameters and units of a container, in the order of declaration.
///
/// A container is a Hana struct: defined with BOOST_HANA_DEFINE_STRUCT or adapted with
/// BOOST_HANA_ADAPT_STRUCT. Hana's macros take 39 members at most; a struct of more is written as
/// structs in a struct, which changes no order. Its members are tensors, Hana structs, and arrays,
/// vectors and optionals of those, nested to any depth. Each member of the container itself is a
/// unit, or each element of a member that is an array or a vector; what lies deeper is flattened
/// into its unit. An empty optional adds nothing. Linear in the tensors, usable in constant
/// expressions, not collective.
template <class Model>
[[nodiscard]] constexpr model_layout describe(Model const& model) {
  model_layout layout;
  layout.parameters = std::vector<parameter>(detail::count_tensors(model), parameter{});
  auto* next = layout.parameters.data();
  auto add = [&layout, &next]<class T>(T const& tensor) {
    *next++ =
        parameter{tensor.size(), dtype_of<typename T::value_type>, tensor.traits, layout.units};
  };
  auto unit = [&layout, &add](auto const& object) {
    detail::for_each_tensor(object, add);
    ++layout.units;
  };
  detail::for_each_unit(model, unit);
  return layout;
}

/// The names of the parameters in the order of `describe`: the path to each tensor, as in
/// `blocks.3.attn.qkv`. An optional adds no part of its own to the path.
template <class Model>
[[nodiscard]] std::vector<std::string> parameter_names(Model const& model) {
  std::vector<std::string> names;
  auto add = [&names](std::string const& name, auto const&) { names.push_back(name); };
  detail::members_of<Model>::for_each_named(model, [&](char const* name, auto const& member) {
    detail::for_each_named_tensor(name, member, add);
  });
  return names;
}

/// The names of the units in their order, as in `blocks.3`.
template <class Model>
[[nodiscard]] std::vector<std::string> unit_names(Model const& model) {
  std::vector<std::string> names;
  auto add = [&names](std::string const& name, auto const&) { names.push_back(name); };
  detail::members_of<Model>::for_each_named(model, [&](char const* name, auto const& member) {
    detail::for_each_named_unit_of(name, member, add);
  });
  return names;
}

/// The tensors of a container in the order of `describe`, to write addresses into. They hold until
/// the container is moved or one of its vectors changes.
template <class Model>
[[nodiscard]] std::vector<detail::tensor_base*> tensors_of(Model& model) {
  std::vector<detail::tensor_base*> tensors;
  auto add = [&tensors](auto& tensor) { tensors.push_back(&tensor); };
  auto unit = [&add](auto& object) { detail::for_each_tensor(object, add); };
  detail::for_each_unit(model, unit);
  return tensors;
}

}  // namespace zero::inline ZERO_ABI
