// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/fwd.hpp>
#include <zero/version.hpp>

#include <concepts>
#include <cstddef>

namespace zero::inline ZERO_ABI {

namespace detail {

/// What the engine needs of an optimizer: the number of state arrays and an update of one element.
/// Optimizers that need whole matrices have no such update.
template <class O>
concept updates_elements = requires {
  { O::moments } -> std::convertible_to<int>;
  typename O::options;
  typename O::scalars;
};

}  // namespace detail

/// Category of `AdamW` and its like: the element-wise update of the parameters.
struct optimizer_category {
  using default_policy = AdamW;  ///< Adam with decoupled weight decay

  /// Judges how often an engine's list chooses.
  template <std::size_t Count>
  struct check_given_once {
    static constexpr bool value = true;  ///< to be asserted on
    static_assert(Count <= 1, "zero::ZeroEngine: an optimizer was given more than once; keep one.");
  };
  /// Whether an engine can have `Optimizer`.
  template <class Optimizer>
  static constexpr bool accepts = detail::updates_elements<Optimizer>;

  /// The same, with its sentence.
  template <class Optimizer>
  struct check_accepted {
    static constexpr bool value = true;  ///< to be asserted on
    static_assert(
        accepts<Optimizer>,
        "zero::ZeroEngine: this optimizer does not update element by element; optimizers that "
        "need whole matrices are not supported, use AdamW, Sgd or Lion, or an optimizer with "
        "moments, options, scalars, prepare and update.");
  };
};

}  // namespace zero::inline ZERO_ABI
