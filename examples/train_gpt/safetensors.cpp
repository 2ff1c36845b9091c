// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"
#include "safetensors.hpp"

#include <zero/core/dtype.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

static_assert(std::endian::native == std::endian::little, "safetensors is little-endian");

namespace train_gpt {

namespace {

using json = nlohmann::ordered_json;

constexpr std::uint64_t longest_header = 100'000'000;  // the format's own limit

std::int64_t elements_of(std::vector<std::int64_t> const& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

template <class T>
void widen(std::span<std::byte const> from, std::span<float> to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    T value;
    std::memcpy(&value, from.data() + i * sizeof value, sizeof value);
    to[i] = zero::to_float(value);
  }
}

}  // namespace

safetensors_writer::safetensors_writer(std::string const& path,
                                       std::vector<tensor_shape> const& tensors)
    : file_(path) {
  json header;
  header["__metadata__"] = {{"format", "zero train_gpt"}};
  std::int64_t offset = 0;
  for (tensor_shape const& tensor : tensors) {
    std::int64_t const end = offset + 4 * elements_of(tensor.extents);
    header[tensor.name] = {
        {"dtype", "F32"}, {"shape", tensor.extents}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the values are aligned
  auto const length = std::uint64_t{text.size()};
  file_.write(&length, sizeof length);
  file_.write(text.data(), text.size());
}

safetensors_reader::safetensors_reader(std::string path, std::vector<tensor_shape> const& tensors)
    : path_(std::move(path)),
      file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (file_ < 0) {
    throw bad_input("The weights '" + path_ +
                    "' cannot be opened: " + std::generic_category().message(errno) + ".");
  }
  try {
    find_tensors(tensors);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

safetensors_reader::~safetensors_reader() {
  ::close(file_);
}

void safetensors_reader::find_tensors(std::vector<tensor_shape> const& tensors) {
  auto const refuse = [this](std::string const& what) {
    return bad_input("The weights '" + path_ + "' cannot be used: " + what + ".");
  };
  struct ::stat status{};
  if (::fstat(file_, &status) != 0 || status.st_size < 8) {
    throw refuse("they are not a safetensors file");
  }
  std::uint64_t length = 0;
  read_bytes(&length, 0, sizeof length);
  auto const size = static_cast<std::uint64_t>(status.st_size);
  if (length > longest_header || length + 8 > size) {
    throw refuse("they are not a safetensors file");
  }
  std::string text(length, ' ');
  read_bytes(text.data(), 8, text.size());
  json const header = json::parse(text, nullptr, false);
  if (!header.is_object()) {
    throw refuse("they are not a safetensors file");
  }

  for (tensor_shape const& tensor : tensors) {
    auto const found = header.find(tensor.name);
    if (found == header.end()) {
      throw refuse("tensor '" + tensor.name + "' is missing");
    }
    try {
      json const& entry = *found;
      auto const type = entry.at("dtype").get<std::string>();
      auto const extents = entry.at("shape").get<std::vector<std::int64_t>>();
      auto const offsets = entry.at("data_offsets").get<std::array<std::uint64_t, 2>>();
      if (type != "F32" && type != "BF16" && type != "F16") {
        throw refuse("tensor '" + tensor.name + "' is of type " + type +
                     ", and F32, BF16 and F16 are known");
      }
      if (extents != tensor.extents) {
        throw refuse("tensor '" + tensor.name +
                     "' has another shape than --layers, --channels and "
                     "--context give it");
      }
      std::uint64_t const bytes =
          static_cast<std::uint64_t>(elements_of(extents)) * (type == "F32" ? 4 : 2);
      std::uint64_t const all = size - 8 - length;
      if (offsets[0] > offsets[1] || offsets[1] > all || offsets[1] - offsets[0] != bytes) {
        throw refuse("the bytes of tensor '" + tensor.name + "' are not all there");
      }
      places_[tensor.name] = {type == "F32"    ? format::fp32
                              : type == "BF16" ? format::bf16
                                               : format::fp16,
                              static_cast<std::int64_t>(8 + length + offsets[0])};
    } catch (json::exception const&) {
      throw refuse("its header has no right entry for tensor '" + tensor.name + "'");
    }
  }
}

void safetensors_reader::read(std::string const& name,
                              std::int64_t first,
                              std::span<float> values) const {
  place const& at = places_.at(name);
  if (at.type == format::fp32) {
    read_bytes(values.data(), at.offset + 4 * first, values.size_bytes());
    return;
  }
  std::vector<std::byte> narrow(2 * values.size());
  read_bytes(narrow.data(), at.offset + 2 * first, narrow.size());
  if (at.type == format::bf16) {
    widen<zero::bf16>(narrow, values);
  } else {
    widen<zero::fp16>(narrow, values);
  }
}

void safetensors_reader::read_bytes(void* to, std::int64_t offset, std::size_t bytes) const {
  char* next = static_cast<char*>(to);
  while (bytes > 0) {
    ssize_t const got = ::pread(file_, next, bytes, offset);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      throw std::runtime_error("cannot read '" + path_ + "'.");
    }
    next += got;
    offset += got;
    bytes -= static_cast<std::size_t>(got);
  }
}

}  // namespace train_gpt
