// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/fwd.hpp>
#include <zero/policy/concepts.hpp>
#include <zero/version.hpp>

#include <cstddef>

namespace zero::inline ZERO_ABI {

/// Category of `Stage<N>`: what is sharded over the ranks.
struct stage_category {
  using default_policy = Stage<0>;  ///< nothing is sharded

  /// Judges how often an engine's list chooses.
  template <std::size_t Count>
  struct check_given_once {
    static constexpr bool value = true;  ///< to be asserted on
    static_assert(Count <= 1, "zero::ZeroEngine: Stage<N> was given more than once; keep one.");
  };
};

namespace detail {

/// The rule of `Stage`, with its sentence.
template <int N>
struct check_stage {
  static constexpr bool value = true;
  static_assert(
      N >= 0 && N <= 3,
      "zero::Stage: there is no such stage; use Stage<0>, Stage<1>, Stage<2> or Stage<3>.");
};

}  // namespace detail

/// What is sharded over the N ranks of an engine (ZeRO, Rajbhandari et al. 2020, section 5).
///
/// | | parameters | gradients | optimizer state |
/// |---|---|---|---|
/// | `Stage<0>` | whole | whole | whole |
/// | `Stage<1>` | whole | whole | 1/N |
/// | `Stage<2>` | whole | 1/N | 1/N |
/// | `Stage<3>` | 1/N | 1/N | 1/N |
///
/// Memory a rank and bytes sent a step are the closed forms that `zero::formula_bytes()` computes.
/// The training loop is the same for every stage. Default: `Stage<0>`.
/// @tparam Number 0 to 3.
template <int Number>
struct Stage {
  using policy_category = stage_category;
  static constexpr int value = Number;  ///< the number of the stage
  static_assert(detail::check_stage<Number>::value);
};

static_assert(policy_of<Stage<2>, stage_category>);

}  // namespace zero::inline ZERO_ABI
