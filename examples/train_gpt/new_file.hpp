// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace train_gpt {

/// A file that appears whole or not at all: written under another name beside its place, brought to
/// disk, then renamed. What was there before stays until that moment, and for good if an exception
/// comes first.
class new_file {
 public:
  /// @throws std::runtime_error naming the file where it cannot be created
  explicit new_file(std::string path);
  new_file(new_file const&) = delete;
  new_file& operator=(new_file const&) = delete;
  ~new_file();

  /// Appends bytes. @throws std::runtime_error
  void write(void const* data, std::size_t bytes);

  /// Gives the file its name. Once, after the last write. @throws std::runtime_error
  void commit();

 private:
  [[noreturn]] void fail(char const* what) const;

  std::string path_;
  std::string aside_;
  int file_;
};

}  // namespace train_gpt
