// SPDX-License-Identifier: Apache-2.0
#include "corpus.hpp"
#include "options.hpp"

#include <zero/core/random.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace train_gpt {

namespace {

namespace fs = std::filesystem;

using bytes = std::vector<std::uint8_t>;

bytes bytes_of(fs::path const& file) {
  std::ifstream stream(file, std::ios::binary);
  bytes result{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (!stream || stream.bad()) {
    throw bad_input("The text '" + file.string() + "' cannot be read.");
  }
  return result;
}

std::vector<fs::path> files_under(fs::path const& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(
      folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_regular_file(ignored)) {
      files.push_back(entry->path());
    }
  }
  if (error) {
    throw bad_input("The folder '" + folder.string() + "' cannot be read.");
  }
  std::ranges::sort(files);
  return files;
}

void append_path(bytes& text, fs::path const& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    throw bad_input("The text '" + path.string() + "' does not exist.");
  }
  if (!fs::is_directory(path, ignored)) {
    bytes const file = bytes_of(path);
    text.insert(text.end(), file.begin(), file.end());
    return;
  }
  for (fs::path const& name : files_under(path)) {
    bytes const file = bytes_of(name);
    if (std::ranges::find(file, std::uint8_t{0}) == file.end()) {
      text.insert(text.end(), file.begin(), file.end());
    }
  }
}

}  // namespace

corpus::corpus(std::span<std::uint8_t const> text, std::int64_t context)
    : window_(static_cast<std::size_t>(context) + 1) {
  constexpr std::size_t parts = 10;
  if (text.empty()) {
    throw bad_input("The text is empty.");
  }
  if (text.size() < parts * window_) {
    throw bad_input("The text has " + std::to_string(text.size()) + " bytes, and --context " +
                    std::to_string(context) + " needs at least " + std::to_string(parts * window_) +
                    ".");
  }
  constexpr std::size_t largest_block = std::size_t{64} * 1024;
  std::size_t const rounds = text.size() / (parts * largest_block) + 1;
  std::size_t const block = std::max(window_, text.size() / (parts * rounds));
  for (std::size_t begin = 0; begin < text.size(); begin += block) {
    std::span<std::uint8_t const> const part =
        text.subspan(begin, std::min(block, text.size() - begin));
    bool const held_out = begin / block % parts == parts - 1;
    bytes& kept = held_out ? validation_ : training_;
    kept.insert(kept.end(), part.begin(), part.end());
  }
}

corpus corpus::read(std::vector<std::string> const& paths, std::int64_t context) {
  bytes text;
  if (paths.empty()) {
    if (!fs::is_directory(TRAIN_GPT_DEFAULT_TEXT)) {
      throw bad_input("The C++ standard library's headers are not in '" TRAIN_GPT_DEFAULT_TEXT
                      "'; name a text with --data FILE.");
    }
    append_path(text, TRAIN_GPT_DEFAULT_TEXT);
  }
  for (std::string const& path : paths) {
    append_path(text, path);
  }
  return {text, context};
}

std::span<std::uint8_t const> corpus::training_window(std::uint64_t seed,
                                                      std::uint64_t number) const noexcept {
  std::uint64_t const places = training_.size() - window_ + 1;
  std::uint64_t const key = zero::key_of("order of the text", seed);
  return training().subspan(zero::random_bits(key, number) % places, window_);
}

std::span<std::uint8_t const> corpus::validation_window(std::int64_t number,
                                                        std::int64_t count) const noexcept {
  std::size_t const last = validation_.size() - window_;
  std::size_t const place =
      count > 1 ? static_cast<std::size_t>(number) * last / static_cast<std::size_t>(count - 1) : 0;
  return validation().subspan(place, window_);
}

}  // namespace train_gpt
