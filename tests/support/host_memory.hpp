// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/device/host_stream.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

namespace zero::test {

/// Host memory as the laws of communicators and kernels want it: what is uploaded lives as long as
/// this, at a multiple of 256 bytes.
class host_memory {
 public:
  template <class T>
  T* upload(std::vector<T> const& values) {
    std::size_t const bytes = values.size() * sizeof(T);
    blocks_.emplace_back(::operator new(bytes + 1, std::align_val_t(256)));
    if (bytes != 0) {
      std::memcpy(blocks_.back().get(), values.data(), bytes);
    }
    return static_cast<T*>(blocks_.back().get());
  }

  template <class T>
  std::vector<T> download(T const* from, std::int64_t n) {
    return std::vector<T>(from, from + n);
  }

  [[nodiscard]] host_stream stream() const { return {}; }

 private:
  struct release {
    void operator()(void* address) const { ::operator delete(address, std::align_val_t(256)); }
  };

  std::vector<std::unique_ptr<void, release>> blocks_;
};

}  // namespace zero::test
