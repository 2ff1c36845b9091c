// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/fwd.hpp>
#include <zero/policy/concepts.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <type_traits>

// X11 defines a macro of this name; the user's is in force again below.
#pragma push_macro("None")
#undef None

namespace zero::inline ZERO_ABI {

/// Category of `Offload<Tier>`: the memory tier that optimizer state lives in.
struct offload_category {
  using default_policy = Offload<None>;  ///< everything is in the memory of the device

  /// Judges how often an engine's list chooses.
  template <std::size_t Count>
  struct check_given_once {
    static constexpr bool value = true;  ///< to be asserted on
    static_assert(Count <= 1,
                  "zero::ZeroEngine: Offload<Tier> was given more than once; keep one.");
  };
};

/// Argument of `Offload`: everything stays in the memory of the device.
struct None {};

/// `None` where that is a macro, as in a file that includes the headers of X11.
using NoTier = None;

namespace detail {

/// The rule of `Offload`, with its sentence.
template <class Tier>
struct check_offload {
  static constexpr bool value = true;
  static_assert(std::is_same_v<Tier, None>,
                "zero::Offload: this version keeps everything in the memory of the device; use "
                "Offload<None>.");
};

}  // namespace detail

/// Which memory tier the optimizer state of an engine lives in. Default: `Offload<None>`, the
/// memory of the device itself.
/// @tparam Tier `None`.
template <class Tier>
struct Offload {
  using policy_category = offload_category;
  using tier = Tier;  ///< the memory tier
  static_assert(detail::check_offload<Tier>::value);
};

static_assert(policy_of<Offload<None>, offload_category>);

}  // namespace zero::inline ZERO_ABI

#pragma pop_macro("None")
