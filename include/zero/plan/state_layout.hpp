// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/core/limits.hpp>
#include <zero/version.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace zero::inline ZERO_ABI {

/// What an array of optimizer state is for.
enum class state_role : std::uint8_t {
  master,  ///< the weights in FP32, of parameters that are not FP32 themselves
  moment,  ///< one of the optimizer's own numbers an element
};

/// One array of optimizer state: a number for each element of a range that the rank updates.
struct state_array {
  state_role role = state_role::moment;  ///< what it is for
  std::int32_t index = 0;                ///< which moment, 0 for a master
  dtype format = dtype::fp32;            ///< of its numbers

  /// Bytes of the array for n elements.
  [[nodiscard]] constexpr std::int64_t bytes(std::int64_t n) const { return n * bytes_of(format); }

  friend constexpr bool operator==(state_array const&, state_array const&) = default;
};

/// The state arrays of a range, one behind the other.
struct state_layout {
  static constexpr std::size_t max_arrays = max_moments + 1;  ///< a master and the moments

  std::array<state_array, max_arrays> list{};  ///< the first `count` are set
  std::int32_t count = 0;                      ///< how many there are

  /// The first array.
  [[nodiscard]] constexpr state_array const* begin() const { return list.data(); }

  /// One past the last.
  [[nodiscard]] constexpr state_array const* end() const { return list.data() + count; }

  /// Bytes of all arrays for n elements.
  [[nodiscard]] constexpr std::int64_t bytes(std::int64_t n) const {
    std::int64_t total = 0;
    for (auto const& array : *this) {
      total += array.bytes(n);
    }
    return total;
  }

  /// Bytes from the start of the first array to that of array `which`, for n elements.
  [[nodiscard]] constexpr std::int64_t offset(std::int32_t which, std::int64_t n) const {
    std::int64_t before = 0;
    for (std::int32_t i = 0; i < which; ++i) {
      before += list[static_cast<std::size_t>(i)].bytes(n);
    }
    return before;
  }

  /// Position of the array with a role and an index in the list, or -1.
  [[nodiscard]] constexpr std::int32_t find(state_role role, std::int32_t index) const {
    for (std::int32_t i = 0; i < count; ++i) {
      auto const& array = list[static_cast<std::size_t>(i)];
      if (array.role == role && array.index == index) {
        return i;
      }
    }
    return -1;
  }

  friend constexpr bool operator==(state_layout const&, state_layout const&) = default;
};

/// The state that an optimizer with `moments` moments keeps for parameters of type `type`: an FP32
/// master unless the parameter is one itself, then the moments.
/// @pre 0 <= moments <= max_moments
[[nodiscard]] constexpr state_layout make_state_layout(int moments, dtype type) {
  state_layout layout;
  if (type != dtype::fp32) {
    layout.list[static_cast<std::size_t>(layout.count++)] = {state_role::master, 0, dtype::fp32};
  }
  for (int i = 0; i < moments; ++i) {
    layout.list[static_cast<std::size_t>(layout.count++)] = {state_role::moment, i, dtype::fp32};
  }
  return layout;
}

}  // namespace zero::inline ZERO_ABI
