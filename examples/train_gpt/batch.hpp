// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace train_gpt {

/// The windows of a micro-step: tokens [size, context], and for each the token after it.
class batch {
 public:
  batch(std::int64_t size, std::int64_t context)
      : context_(static_cast<std::size_t>(context)),
        tokens_(static_cast<std::size_t>(size) * context_),
        targets_(tokens_.size()) {}

  /// Puts a window of context + 1 bytes at place `index`.
  void set(std::int64_t index, std::span<std::uint8_t const> window) {
    auto const at = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(index) * context_);
    std::copy_n(window.begin(), context_, tokens_.begin() + at);
    std::copy_n(window.begin() + 1, context_, targets_.begin() + at);
  }

  [[nodiscard]] std::uint8_t const* tokens() const noexcept { return tokens_.data(); }

  [[nodiscard]] std::uint8_t const* targets() const noexcept { return targets_.data(); }

 private:
  std::size_t context_;
  std::vector<std::uint8_t> tokens_;
  std::vector<std::uint8_t> targets_;
};

}  // namespace train_gpt
