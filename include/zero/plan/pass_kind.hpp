// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/version.hpp>

namespace zero::inline ZERO_ABI {

/// The kind of one pass. Training passes differ by their place in the step, and any pass by whether
/// it is the first since the parameters were updated.
struct pass_kind {
  bool train = true;  ///< forward and backward; else forward alone
  bool first = true;  ///< first micro-step: accumulators are overwritten
  bool last = true;   ///< last micro-step: the reduction is completed
  bool fresh = true;  ///< first pass after a step: updated parameters are published

  friend constexpr bool operator==(pass_kind const&, pass_kind const&) = default;
};

/// Number of kinds of pass.
inline constexpr int pass_kinds = 10;

/// Index of a kind of pass, 0 to 9: eight training passes, two evaluation passes.
[[nodiscard]] constexpr int index_of(pass_kind pass) {
  return pass.train ? (pass.first ? 4 : 0) + (pass.last ? 2 : 0) + (pass.fresh ? 1 : 0)
                    : 8 + (pass.fresh ? 1 : 0);
}

/// The kind of pass with index `index`.
[[nodiscard]] constexpr pass_kind pass_at(int index) {
  return index < 8 ? pass_kind{true, (index & 4) != 0, (index & 2) != 0, (index & 1) != 0}
                   : pass_kind{false, false, false, (index & 1) != 0};
}

/// What a kind of pass is called in messages.
[[nodiscard]] constexpr char const* name(pass_kind pass) {
  if (!pass.train) {
    return "an evaluation pass";
  }
  if (pass.first) {
    return pass.last ? "the only micro-step" : "the first of several micro-steps";
  }
  return pass.last ? "the last of several micro-steps"
                   : "neither the first nor the last micro-step";
}

}  // namespace zero::inline ZERO_ABI
