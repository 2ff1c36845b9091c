// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "new_file.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

/// Weights in one safetensors file: eight bytes with the length of a JSON header, the header with
/// type, shape and place of each tensor, then the values, little-endian. The format is described at
/// https://github.com/huggingface/safetensors.
namespace train_gpt {

/// A tensor of the model: what a file must have for it.
struct tensor_shape {
  std::string name;
  std::vector<std::int64_t> extents;
};

/// Writes FP32 values of the given tensors, in their order, piece by piece: nothing is held in
/// memory. The file appears whole or not at all.
class safetensors_writer {
 public:
  /// @throws std::runtime_error where the file cannot be created
  safetensors_writer(std::string const& path, std::vector<tensor_shape> const& tensors);

  /// Appends the next values. @throws std::runtime_error
  void write(std::span<float const> values) { file_.write(values.data(), values.size_bytes()); }

  /// Ends the file. @throws std::runtime_error
  void commit() { file_.commit(); }

 private:
  new_file file_;
};

/// Reads values of a file from any place in it, as floats. Understands F32, BF16 and F16.
class safetensors_reader {
 public:
  /// Opens a file and checks that it has these tensors with these shapes, and all their bytes.
  /// @throws bad_input with what is wrong
  safetensors_reader(std::string path, std::vector<tensor_shape> const& tensors);
  safetensors_reader(safetensors_reader const&) = delete;
  safetensors_reader& operator=(safetensors_reader const&) = delete;
  ~safetensors_reader();

  /// Fills `values` with elements first, first + 1, ... of a tensor.
  /// @throws std::runtime_error where the file cannot be read
  void read(std::string const& name, std::int64_t first, std::span<float> values) const;

 private:
  enum class format { fp32, bf16, fp16 };

  struct place {
    format type = format::fp32;
    std::int64_t offset = 0;  ///< in the file
  };

  void find_tensors(std::vector<tensor_shape> const& tensors);
  void read_bytes(void* to, std::int64_t offset, std::size_t bytes) const;

  std::string path_;
  int file_;
  std::map<std::string, place> places_;
};

}  // namespace train_gpt
