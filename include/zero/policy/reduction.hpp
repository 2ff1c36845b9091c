// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/fwd.hpp>
#include <zero/policy/concepts.hpp>
#include <zero/policy/native.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <type_traits>

namespace zero::inline ZERO_ABI {

/// Category of `Reduction<Kind>`: how the ranks' contributions to a gradient are added.
struct reduction_category {
  using default_policy = Reduction<Ordered>;  ///< contributions are added in rank order

  /// Judges how often an engine's list chooses.
  template <std::size_t Count>
  struct check_given_once {
    static constexpr bool value = true;  ///< to be asserted on
    static_assert(Count <= 1,
                  "zero::ZeroEngine: Reduction<Kind> was given more than once; keep one.");
  };
};

/// Argument of `Reduction`: add the contributions in the order of the ranks, in FP32.
struct Ordered {};

namespace detail {

/// The rule of `Reduction`, with its sentence.
template <class Kind>
struct check_reduction {
  static constexpr bool value = true;
  static_assert(std::is_same_v<Kind, Ordered> || std::is_same_v<Kind, Native>,
                "zero::Reduction: no such way to add the contributions of the ranks; use "
                "Reduction<Ordered> or Reduction<Native>.");
};

}  // namespace detail

/// How the ranks' contributions to a gradient are added. `Reduction<Ordered>` sends each rank what
/// the others have of its shard, an all-to-all in which the own chunk stays where it is, and adds
/// in rank order in FP32, so that stages, communicators and devices agree bit for bit; it sends the
/// bytes that a reduce-scatter would. `Reduction<Native>` calls the communicator's own
/// reduce-scatter, which sums in the type on the wire, in an order of its own.
/// Default: `Reduction<Ordered>`.
/// @tparam Kind `Ordered` or `Native`.
template <class Kind>
struct Reduction {
  using policy_category = reduction_category;
  static constexpr bool native = std::is_same_v<Kind, Native>;  ///< the communicator's own sum
  static_assert(detail::check_reduction<Kind>::value);
};

static_assert(policy_of<Reduction<Ordered>, reduction_category>);

}  // namespace zero::inline ZERO_ABI
