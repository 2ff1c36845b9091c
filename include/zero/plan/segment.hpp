// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/model/program.hpp>
#include <zero/plan/operation.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace zero::inline ZERO_ABI {

/// The operations of one kind of pass, or of the step, attached to the points at which user code
/// reaches the engine: point 0 is the begin, point 1 + i is token i, the last point is the end.
struct segment {
  std::vector<program_token> tokens;  ///< the opens and closes of user code, in order
  std::vector<operation> operations;  ///< in the order of issue
  std::vector<std::int32_t> starts;   ///< operations of point p: [starts[p], starts[p + 1])

  /// The operations of a point.
  [[nodiscard]] constexpr std::span<operation const> at(std::size_t point) const {
    auto const first = static_cast<std::size_t>(starts[point]);
    auto const end = static_cast<std::size_t>(starts[point + 1]);
    return {operations.data() + first, end - first};
  }
};

/// The tokens of a pass: forward, and for training passes backward after it.
[[nodiscard]] constexpr std::vector<program_token> tokens_of(program const& program, bool train) {
  std::vector<program_token> tokens;
  tokens.reserve(program.forward.size() + (train ? program.backward.size() : 0));
  tokens.insert(tokens.end(), program.forward.begin(), program.forward.end());
  if (train) {
    tokens.insert(tokens.end(), program.backward.begin(), program.backward.end());
  }
  return tokens;
}

}  // namespace zero::inline ZERO_ABI
