// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace train_gpt {

/// Draws tokens from a model's predictions, always the same ones for a seed.
class sampler {
 public:
  /// Text starts with one line break, so that there is something to continue.
  explicit sampler(std::uint64_t seed);

  /// The tokens that a prediction may look at: up to `context` of the latest.
  [[nodiscard]] std::span<std::uint8_t const> latest(std::int64_t context) const;

  /// Draws the next token. Likely ones are preferred a little (temperature 0.8).
  void draw(std::span<float const> probabilities);

  /// What was drawn, with a dot for bytes that cannot be printed.
  [[nodiscard]] std::string printable() const;

 private:
  std::uint64_t key_;
  std::string text_ = "\n";
};

}  // namespace train_gpt
