// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/config.hpp>
#include <zero/core/dtype.hpp>
#include <zero/core/shape.hpp>
#include <zero/version.hpp>

#include <cstdint>

namespace zero::inline ZERO_ABI {

/// What a user may say about one parameter.
struct parameter_traits {
  bool frozen = false;       ///< no gradient, no optimizer state, never changed
  bool weight_decay = true;  ///< false: the optimizer's weight decay does not touch it
  double lr_scale = 1;       ///< multiplies the learning rate; 0 or more
  bool resident = false;     ///< Stage<3>: whole on every rank, as in Stage<2>

  friend constexpr bool operator==(parameter_traits const&, parameter_traits const&) = default;
};

namespace detail {

/// What all tensors have in common, whatever their type: what the engine reads when it lays out the
/// model, and the address it writes at each lease.
struct tensor_base {
  void* address = nullptr;
  zero::shape extents{0};
  parameter_traits traits;
};

/// The rules of a shape that is part of a type, in a class of their own: one error a mistake.
template <std::int64_t... Extents>
struct check_extents {
  static constexpr bool value = true;
  static_assert(sizeof...(Extents) <= zero::shape::max_rank,
                "zero::Tensor: more than 8 dimensions; merge some.");
  static_assert(((Extents >= 0) && ...), "zero::Tensor: a negative extent; sizes are 0 or more.");
};

}  // namespace detail

/// A parameter of the user's model: an element type, a shape, traits, and an address that the
/// engine sets while a lease of its unit is open. Owns nothing; copies share the address. Usable in
/// constant expressions.
///
/// @tparam T        float, bf16 or fp16
/// @tparam Extents  the shape where it is known at compile time; none: the shape is given at run
/// time
template <element T, std::int64_t... Extents>
class Tensor : public detail::tensor_base {
  static_assert(detail::check_extents<Extents...>::value);

 public:
  /// The element type.
  using value_type = T;

  /// Whether the shape is part of the type.
  static constexpr bool is_static = sizeof...(Extents) != 0;

  /// A tensor of the static shape; of zero elements where there is none.
  constexpr Tensor()
      : tensor_base{nullptr, static_shape_, {}} {}

  /// @param of_shape  the shape
  /// @param special   what is special about this parameter
  explicit constexpr Tensor(zero::shape const& of_shape, parameter_traits const& special = {})
    requires(!is_static)
      : tensor_base{nullptr, of_shape, special} {}

  /// @param special  what is special about this parameter
  constexpr Tensor(parameter_traits const& special)
    requires is_static
      : tensor_base{nullptr, static_shape_, special} {}

  /// @return the first element, row by row without gaps; null while no lease of the unit is open.
  [[nodiscard]] ZERO_HOST_DEVICE T* data() noexcept { return static_cast<T*>(address); }

  /// @return the first element, row by row without gaps; null while no lease of the unit is open.
  [[nodiscard]] ZERO_HOST_DEVICE T const* data() const noexcept {
    return static_cast<T const*>(address);
  }

  /// @return the extents.
  [[nodiscard]] constexpr zero::shape const& shape() const noexcept { return extents; }

  /// @return the number of elements.
  [[nodiscard]] constexpr std::int64_t size() const noexcept { return extents.elements(); }

  /// @param index  0 to size() - 1, in row order; not checked
  /// @return that element; the memory must be reachable from where this runs
  [[nodiscard]] ZERO_HOST_DEVICE T& operator[](std::int64_t index) noexcept {
    return data()[index];
  }

  /// @param index  0 to size() - 1, in row order; not checked
  /// @return that element; the memory must be reachable from where this runs
  [[nodiscard]] ZERO_HOST_DEVICE T const& operator[](std::int64_t index) const noexcept {
    return data()[index];
  }

 private:
  // Formed once a type: forming it for each tensor would be most of the cost of a large model in a
  // constant expression.
  static constexpr zero::shape static_shape_ = [] {
    // a list that is refused above must not be refused here again
    constexpr bool usable =
        is_static && sizeof...(Extents) <= shape::max_rank && ((Extents >= 0) && ... && true);
    if constexpr (usable) {
      return zero::shape{Extents...};
    } else {
      return zero::shape{0};
    }
  }();
};

}  // namespace zero::inline ZERO_ABI
