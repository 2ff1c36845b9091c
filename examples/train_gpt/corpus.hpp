// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace train_gpt {

/// Text as bytes, one byte a token, parted into what is trained on and what is held out.
///
/// The text is cut in equal blocks of at most 64 KiB (at least a window), and every tenth is held
/// out, so that both parts have something of every place in the text.
class corpus {
 public:
  /// Parts `text` for windows of `context` tokens and the one that follows them.
  /// @throws bad_input where the text is empty or too short for that.
  corpus(std::span<std::uint8_t const> text, std::int64_t context);

  /// Reads files and, sorted by path, all text files under folders; without any, the C++ standard
  /// library's headers. Files with zero bytes in them, found under folders, are not text and are
  /// left out.
  /// @throws bad_input where a path does not exist or cannot be read, and as the constructor does.
  [[nodiscard]] static corpus read(std::vector<std::string> const& paths, std::int64_t context);

  [[nodiscard]] std::span<std::uint8_t const> training() const noexcept { return training_; }

  [[nodiscard]] std::span<std::uint8_t const> validation() const noexcept { return validation_; }

  /// Window `number` of the training order that `seed` makes: `context` + 1 bytes. The same numbers
  /// give the same windows whoever asks, so every stage sees the same global batch.
  [[nodiscard]] std::span<std::uint8_t const> training_window(std::uint64_t seed,
                                                              std::uint64_t number) const noexcept;

  /// Window `number` of `count`, spread evenly over the part held out: `context` + 1 bytes.
  [[nodiscard]] std::span<std::uint8_t const> validation_window(std::int64_t number,
                                                                std::int64_t count) const noexcept;

 private:
  std::size_t window_;
  std::vector<std::uint8_t> training_;
  std::vector<std::uint8_t> validation_;
};

}  // namespace train_gpt
