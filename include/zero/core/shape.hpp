// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>
#include <zero/version.hpp>

#include <cstdint>
#include <initializer_list>
#include <limits>

namespace zero::inline ZERO_ABI {

/// The extents of a tensor: up to eight sizes of 64 bits. A value; usable in constant expressions.
class shape {
 public:
  /// The largest number of dimensions.
  static constexpr int max_rank = 8;

  /// No dimension: the shape of a scalar, which has one element.
  constexpr shape() = default;

  /// @param extents  at most max_rank sizes, each 0 or more, slowest first
  /// @throws logic_error if there are too many, one is negative, or their product needs more than
  ///         63 bits
  constexpr shape(std::initializer_list<std::int64_t> extents) {
    precondition(extents.size() <= static_cast<std::size_t>(max_rank),
                 "zero::shape: more than 8 dimensions; merge some.");
    bool empty = false;
    for (std::int64_t const extent : extents) {
      precondition(extent >= 0, "zero::shape: a negative extent; sizes are 0 or more.");
      empty = empty || extent == 0;
      extents_[rank_++] = extent;
    }
    for (std::int64_t const extent : extents) {
      precondition(
          empty || elements_ <= std::numeric_limits<std::int64_t>::max() / extent,
          "zero::shape: the number of elements needs more than 63 bits; use smaller extents.");
      elements_ = empty ? 0 : elements_ * extent;
    }
  }

  /// @return the number of dimensions.
  [[nodiscard]] constexpr int rank() const noexcept { return rank_; }

  /// @param dimension  0 to rank() - 1
  /// @return the size in that dimension
  /// @throws logic_error if there is no such dimension
  [[nodiscard]] constexpr std::int64_t operator[](int dimension) const {
    precondition(dimension >= 0 && dimension < rank_,
                 "zero::shape: no such dimension; ask for 0 to rank() - 1.");
    return extents_[dimension];
  }

  /// @return the product of the extents; 1 if there are none.
  [[nodiscard]] constexpr std::int64_t elements() const noexcept { return elements_; }

  /// Two shapes are equal if they have the same extents in the same order.
  friend constexpr bool operator==(shape const&, shape const&) = default;

 private:
  std::int64_t extents_[max_rank] = {};  // unused ones are 0, so that == may compare all
  std::int64_t elements_ = 1;
  int rank_ = 0;
};

}  // namespace zero::inline ZERO_ABI
