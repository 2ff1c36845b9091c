// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/wild.hpp"

#include <zero/core/dtype.hpp>
#include <zero/core/error.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/device/gpu/memory.hpp>

#include <doctest/doctest.h>

#include <cuda_runtime_api.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>

namespace zero::test {

/// The sizes at which a kernel that works in vectors of 8 and blocks of 2048 can go wrong.
inline std::vector<std::int64_t> const awkward_sizes{
    0, 1, 7, 8, 9, 255, 256, 1024, 2047, 2048, 2049, 4095, 4096, 4097, 16383, 16384, 16385};

/// An array on the GPU between two stretches of a pattern that nobody may touch.
template <class T>
class gpu_array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// @param values  what it holds
  /// @param shift   elements between an address that is a multiple of 256 and the first value
  explicit gpu_array(std::vector<T> const& values, std::int64_t shift = 0)
      : count_(static_cast<std::int64_t>(values.size())),
        first_(guard_bytes + shift * static_cast<std::int64_t>(sizeof(T))),
        memory_(first_ + count_ * static_cast<std::int64_t>(sizeof(T)) + guard_bytes, "test") {
    check_cuda(cudaMemset(memory_.get(), pattern, static_cast<std::size_t>(memory_.size())),
               "cudaMemset");
    if (count_ > 0) {
      check_cuda(cudaMemcpy(data(), values.data(), values.size() * sizeof(T), cudaMemcpyDefault),
                 "cudaMemcpy");
    }
    // Both may end after the calls, and other streams do not wait for them.
    check_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  }

  explicit gpu_array(std::int64_t count)
      : gpu_array(std::vector<T>(static_cast<std::size_t>(count))) {}

  [[nodiscard]] T* data() const {
    return reinterpret_cast<T*>(static_cast<std::byte*>(memory_.get()) + first_);
  }

  [[nodiscard]] std::int64_t size() const { return count_; }

  /// Waits for the GPU and gives the values.
  /// @throws logic_error something wrote outside of the array
  [[nodiscard]] std::vector<T> values() const {
    std::vector<unsigned char> bytes(static_cast<std::size_t>(memory_.size()));
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check_cuda(cudaMemcpy(bytes.data(), memory_.get(), bytes.size(), cudaMemcpyDefault),
               "cudaMemcpy");
    std::size_t const end = static_cast<std::size_t>(first_) + size_bytes();
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      precondition((i >= static_cast<std::size_t>(first_) && i < end) || bytes[i] == pattern,
                   "a kernel wrote outside of its array");
    }
    std::vector<T> result(static_cast<std::size_t>(count_));
    if (count_ > 0) {
      std::memcpy(result.data(), bytes.data() + first_, size_bytes());
    }
    return result;
  }

 private:
  static constexpr std::int64_t guard_bytes = 256;
  static constexpr int pattern = 0xa5;

  [[nodiscard]] std::size_t size_bytes() const {
    return static_cast<std::size_t>(count_) * sizeof(T);
  }

  std::int64_t count_;
  std::int64_t first_;
  gpu::memory memory_;
};

/// Any bits at all: every exponent, denormals, infinities and NaN.
template <element T>
[[nodiscard]] std::vector<T> any_bits(std::int64_t n, std::uint64_t seed) {
  std::mt19937_64 bits(seed);
  std::vector<T> values;
  for (std::int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<T, float>) {
      values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits())));
    } else {
      values.push_back(T{static_cast<std::uint16_t>(bits())});
    }
  }
  return values;
}

/// Two types of elements, as `TEST_CASE_TEMPLATE` wants them: one type.
template <class First, class Second>
struct types {
  using first = First;
  using second = Second;
};

}  // namespace zero::test

TYPE_TO_STRING(zero::test::types<zero::bf16, float>);
TYPE_TO_STRING(zero::test::types<zero::bf16, zero::bf16>);
TYPE_TO_STRING(zero::test::types<zero::fp16, float>);
TYPE_TO_STRING(zero::test::types<zero::fp16, zero::fp16>);
TYPE_TO_STRING(zero::test::types<float, float>);
