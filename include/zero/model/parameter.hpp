// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/core/tensor.hpp>
#include <zero/version.hpp>

#include <cstdint>
#include <vector>

namespace zero::inline ZERO_ABI {

/// One parameter as plans see it: how many elements of which type, and what its user said about it.
/// Names and shapes are apart, because a plan is made in constant expressions and needs neither.
/// @see parameter_names, which lists names in the same order.
struct parameter {
  std::int64_t elements = 0;  ///< may be 0
  dtype type = dtype::fp32;   ///< element type of the tensor
  parameter_traits traits;    ///< frozen, weight decay, learning rate, residency
  std::int32_t unit = 0;      ///< index of the unit it is gathered and reduced with

  friend constexpr bool operator==(parameter const&, parameter const&) = default;
};

/// A container's parameters in the order of their declaration, and the number of its units. The
/// parameters of one unit are adjacent, and units are numbered in the same order; a unit may have
/// no parameter at all.
struct model_layout {
  std::vector<parameter> parameters;  ///< in the order of declaration
  std::int32_t units = 0;             ///< those without parameters counted too

  friend constexpr bool operator==(model_layout const&, model_layout const&) = default;
};

}  // namespace zero::inline ZERO_ABI
