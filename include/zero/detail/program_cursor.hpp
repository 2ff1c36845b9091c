// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>
#include <zero/model/program.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// Follows a pass through its program and says in words what was expected where user code departs
/// from it.
class program_cursor {
 public:
  explicit program_cursor(std::vector<std::string> unit_names)
      : names_(std::move(unit_names)) {}

  /// Starts at the beginning of `tokens`, which must outlive the pass.
  void begin(std::vector<program_token> const& tokens) {
    tokens_ = &tokens;
    at_ = 0;
  }

  void end() { tokens_ = nullptr; }

  [[nodiscard]] bool active() const { return tokens_ != nullptr; }

  [[nodiscard]] bool finished() const { return at_ == static_cast<std::int32_t>(tokens_->size()); }

  [[nodiscard]] std::int32_t position() const { return at_; }

  /// Whether the program goes on with this open or close.
  [[nodiscard]] bool awaits(program_token const& wanted) const {
    if (finished()) {
      return false;
    }
    auto const& t = (*tokens_)[static_cast<std::size_t>(at_)];
    return t.unit == wanted.unit && t.ph == wanted.ph && t.open == wanted.open;
  }

  /// The phase of the next open or close; of none, the forward phase.
  [[nodiscard]] phase next_phase() const {
    return active() && !finished() ? (*tokens_)[static_cast<std::size_t>(at_)].ph : phase::forward;
  }

  /// Passes one token.
  void advance() { ++at_; }

  /// "open backward 'blocks.3'".
  [[nodiscard]] std::string describe(program_token const& t) const {
    return std::string(t.open ? "open " : "close ") +
           (t.ph == phase::forward ? "forward '" : "backward '") + unit_name(t.unit) + "'";
  }

  /// What the program expects next, in words.
  [[nodiscard]] std::string describe_next() const {
    return finished() ? std::string("the end of the pass")
                      : describe((*tokens_)[static_cast<std::size_t>(at_)]);
  }

  [[nodiscard]] char const* unit_name(std::int32_t unit) const {
    return unit < 0 ? "" : names_[static_cast<std::size_t>(unit)].c_str();
  }

 private:
  std::vector<std::string> names_;
  std::vector<program_token> const* tokens_ = nullptr;
  std::int32_t at_ = 0;
};

}  // namespace zero::inline ZERO_ABI::detail
