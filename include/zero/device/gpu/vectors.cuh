// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/version.hpp>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace zero::inline ZERO_ABI::gpu {

/// Bytes of the widest access of a thread.
inline constexpr std::int64_t vector_bytes = 16;

/// Whether all addresses are multiples of 16 bytes. Those of the library's pools are; a user's
/// need not be, and go one element at a time.
template <class... T>
[[nodiscard]] bool aligned_for_vectors(T const*... addresses) noexcept {
  return (
      (reinterpret_cast<std::uintptr_t>(addresses) % static_cast<std::uintptr_t>(vector_bytes) ==
       0) &&
      ...);
}

/// Reads N consecutive elements in accesses of 16 bytes, of 8 where that is all there is.
/// @param from  aligned to the access
/// @param x     the elements as floats
template <element T, std::size_t N>
__device__ void load_vector(T const* from, float (&x)[N]) {
  static_assert(N == 4 || N == 8);
  constexpr int elements = static_cast<int>(N);
  if constexpr (std::is_same_v<T, float>) {
#pragma unroll
    for (int i = 0; i < elements; i += 4) {
      float4 const v = *reinterpret_cast<float4 const*>(from + i);
      x[i] = v.x;
      x[i + 1] = v.y;
      x[i + 2] = v.z;
      x[i + 3] = v.w;
    }
  } else {
    using vector = std::conditional_t<N == 8, uint4, uint2>;
    vector const v = *reinterpret_cast<vector const*>(from);
    std::uint32_t words[N / 2] = {v.x, v.y};
    if constexpr (N == 8) {
      words[2] = v.z;
      words[3] = v.w;
    }
#pragma unroll
    for (int i = 0; i < elements; i += 2) {
      x[i] = to_float(T{static_cast<std::uint16_t>(words[i / 2] & 0xffffU)});
      x[i + 1] = to_float(T{static_cast<std::uint16_t>(words[i / 2] >> 16U)});
    }
  }
}

/// Rounds N floats to T and writes them, in the accesses of `load_vector`.
/// @param x  afterwards the values that were written
template <element T, std::size_t N>
__device__ void store_vector(T* to, float (&x)[N]) {
  static_assert(N == 4 || N == 8);
  constexpr int elements = static_cast<int>(N);
  if constexpr (std::is_same_v<T, float>) {
#pragma unroll
    for (int i = 0; i < elements; i += 4) {
      *reinterpret_cast<float4*>(to + i) = float4{x[i], x[i + 1], x[i + 2], x[i + 3]};
    }
  } else {
    std::uint32_t words[N / 2];
#pragma unroll
    for (int i = 0; i < elements; i += 2) {
      T const low = from_float<T>(x[i]);
      T const high = from_float<T>(x[i + 1]);
      words[i / 2] = low.bits | (static_cast<std::uint32_t>(high.bits) << 16U);
      x[i] = to_float(low);
      x[i + 1] = to_float(high);
    }
    if constexpr (N == 8) {
      *reinterpret_cast<uint4*>(to) = uint4{words[0], words[1], words[2], words[3]};
    } else {
      *reinterpret_cast<uint2*>(to) = uint2{words[0], words[1]};
    }
  }
}

/// How a thread reaches its N elements: all at once, or those that exist one at a time.
enum class access_by { vector, element };

/// Reads `count` elements; the others of x are 0. `count` matters one at a time only.
template <access_by By, element T, std::size_t N>
__device__ void load(T const* from, std::int64_t count, float (&x)[N]) {
  if constexpr (By == access_by::vector) {
    load_vector(from, x);
  } else {
#pragma unroll
    for (int i = 0; i < static_cast<int>(N); ++i) {
      x[i] = i < count ? to_float(from[i]) : 0.0F;
    }
  }
}

/// Rounds and writes `count` elements, and leaves in x what was written.
template <access_by By, element T, std::size_t N>
__device__ void store(T* to, std::int64_t count, float (&x)[N]) {
  if constexpr (By == access_by::vector) {
    store_vector(to, x);
  } else {
#pragma unroll
    for (int i = 0; i < static_cast<int>(N); ++i) {
      if (i < count) {
        T const rounded = from_float<T>(x[i]);
        to[i] = rounded;
        x[i] = to_float(rounded);
      }
    }
  }
}

}  // namespace zero::inline ZERO_ABI::gpu
