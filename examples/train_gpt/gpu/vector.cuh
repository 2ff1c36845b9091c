// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace train_gpt::gpu {

/// The elements of one access of 16 bytes.
template <class T>
inline constexpr int lanes = 16 / static_cast<int>(sizeof(T));

/// Reads `lanes<T>` elements as floats; exact.
__device__ inline void load(float (&x)[4], float const* from) {
  float4 const v = *reinterpret_cast<float4 const*>(from);
  x[0] = v.x;
  x[1] = v.y;
  x[2] = v.z;
  x[3] = v.w;
}

__device__ inline float2 widen(std::uint32_t pair, zero::bf16 /*type*/) {
  return {__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u)};
}

__device__ inline float2 widen(std::uint32_t pair, zero::fp16 /*type*/) {
  __half2 h;
  __builtin_memcpy(&h, &pair, sizeof h);
  return __half22float2(h);
}

__device__ inline std::uint32_t narrow(float a, float b, zero::bf16 /*type*/) {
  __nv_bfloat162 const h = __floats2bfloat162_rn(a, b);
  std::uint32_t pair = 0;
  __builtin_memcpy(&pair, &h, sizeof h);
  return pair;
}

__device__ inline std::uint32_t narrow(float a, float b, zero::fp16 /*type*/) {
  __half2 const h = __floats2half2_rn(a, b);
  std::uint32_t pair = 0;
  __builtin_memcpy(&pair, &h, sizeof h);
  return pair;
}

template <class T>
__device__ void load(float (&x)[8], T const* from) {
  uint4 const v = *reinterpret_cast<uint4 const*>(from);
  std::uint32_t const pairs[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float2 const f = widen(pairs[i], T{});
    x[2 * i] = f.x;
    x[2 * i + 1] = f.y;
  }
}

/// Writes `lanes<T>` floats, rounded to T.
__device__ inline void store(float* to, float const (&x)[4]) {
  *reinterpret_cast<float4*>(to) = {x[0], x[1], x[2], x[3]};
}

template <class T>
__device__ void store(T* to, float const (&x)[8]) {
  *reinterpret_cast<uint4*>(to) = {narrow(x[0], x[1], T{}),
                                   narrow(x[2], x[3], T{}),
                                   narrow(x[4], x[5], T{}),
                                   narrow(x[6], x[7], T{})};
}

/// One element, for where accesses are single.
__device__ inline float widen_one(float x) {
  return x;
}

template <class T>
__device__ float widen_one(T x) {
  return widen(x.bits, T{}).x;
}

template <class T>
__device__ T narrow_one(float x) {
  if constexpr (sizeof(T) == 4) {
    return x;
  } else {
    return T{static_cast<std::uint16_t>(narrow(x, 0.0f, T{}) & 0xffffu)};
  }
}

/// The sum over a warp, the same on every lane.
__device__ inline float warp_sum(float x) {
#pragma unroll
  for (int stride = 16; stride > 0; stride /= 2) {
    x += __shfl_xor_sync(0xffffffffu, x, stride);
  }
  return x;
}

__device__ inline float warp_max(float x) {
#pragma unroll
  for (int stride = 16; stride > 0; stride /= 2) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, stride));
  }
  return x;
}

}  // namespace train_gpt::gpu
