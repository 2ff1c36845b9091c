// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/version.hpp>

#include <cstddef>

namespace zero::inline ZERO_ABI {

/// A list of types, as `model_element_types` returns it. Only its type is of use.
template <class... Ts>
struct type_list {
  static constexpr std::size_t size = sizeof...(Ts);  ///< how many
};

}  // namespace zero::inline ZERO_ABI
