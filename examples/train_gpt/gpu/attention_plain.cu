// SPDX-License-Identifier: Apache-2.0
#include "attention.hpp"
#include "vector.cuh"

#include <zero/core/error.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/device/gpu/memory.hpp>

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

namespace train_gpt::gpu {

namespace {

constexpr int threads = 128;  // rows of a block, one a thread
constexpr int tile = 32;      // rows of the other side in shared memory at a time

/// Where one head of one window lies: qkv and its gradient have rows of 3 channels.
struct place {
  std::int64_t qkv;  ///< first query
  std::int64_t out;  ///< first output
  std::int64_t row;  ///< first of logsums
};

__device__ place place_of(attention_sizes const& sizes) {
  std::int64_t const b = blockIdx.y / sizes.heads;
  std::int64_t const h = blockIdx.y % sizes.heads;
  std::int64_t const at = h * (sizes.channels / sizes.heads);
  return {b * sizes.length * 3 * sizes.channels + at,
          b * sizes.length * sizes.channels + at,
          static_cast<std::int64_t>(blockIdx.y) * sizes.length};
}

/// `Size` floats of a row; those beyond `used` are 0.
template <int Size, class T>
__device__ void load_row(float (&x)[Size], T const* from, int used) {
#pragma unroll
  for (int i = 0; i < Size; i += lanes<T>) {
    float v[lanes<T>] = {};
    if (i < used) {
      load(v, from + i);
    }
#pragma unroll
    for (int k = 0; k < lanes<T>; ++k) {
      x[i + k] = v[k];
    }
  }
}

template <int Size, class T>
__device__ void store_row(T* to, float const (&x)[Size], int used) {
#pragma unroll
  for (int i = 0; i < Size; i += lanes<T>) {
    if (i < used) {
      float v[lanes<T>];
#pragma unroll
      for (int k = 0; k < lanes<T>; ++k) {
        v[k] = x[i + k];
      }
      store(to + i, v);
    }
  }
}

/// Rows [first, first + tile) of a matrix into shared memory, by the whole block; 0 past `last`.
template <int Size, class T>
__device__ void load_tile(float (*to)[Size],
                          T const* from,
                          std::int64_t stride,
                          std::int64_t first,
                          std::int64_t last,
                          int used) {
  constexpr int width = Size / lanes<T>;
  for (int i = threadIdx.x; i < tile * width; i += threads) {
    std::int64_t const row = first + i / width;
    int const column = i % width * lanes<T>;
    float v[lanes<T>] = {};
    if (row < last && column < used) {
      load(v, from + row * stride + column);
    }
#pragma unroll
    for (int k = 0; k < lanes<T>; ++k) {
      to[i / width][column + k] = v[k];
    }
  }
}

template <int Size>
__device__ float dot(float const (&a)[Size], float const* b) {
  float sum = 0;
#pragma unroll
  for (int i = 0; i < Size; ++i) {
    sum = fmaf(a[i], b[i], sum);
  }
  return sum;
}

template <int Size>
__device__ void add_scaled(float (&to)[Size], float factor, float const* x) {
#pragma unroll
  for (int i = 0; i < Size; ++i) {
    to[i] = fmaf(factor, x[i], to[i]);
  }
}

/// A thread a query, keys in order, the softmax rescaled whenever a larger score comes (Milakov and
/// Gimelshein 2018).
template <class T, int Size>
__global__ void __launch_bounds__(threads)
    forward_kernel(T* out, float* logsums, T const* qkv, attention_sizes sizes, float scale) {
  __shared__ float keys[tile][Size];
  __shared__ float values[tile][Size];
  place const at = place_of(sizes);
  std::int64_t const stride = 3 * sizes.channels;
  int const used = static_cast<int>(sizes.channels / sizes.heads);
  std::int64_t const query = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  bool const mine = query < sizes.length;
  float q[Size] = {};
  float o[Size] = {};
  if (mine) {
    load_row(q, qkv + at.qkv + query * stride, used);
  }
  float largest = -INFINITY;
  float sum = 0;
  std::int64_t const block_end = (std::int64_t{blockIdx.x} + 1) * threads;
  std::int64_t const last = block_end < sizes.length ? block_end : sizes.length;
  for (std::int64_t first = 0; first < last; first += tile) {
    __syncthreads();
    load_tile(keys, qkv + at.qkv + sizes.channels, stride, first, last, used);
    load_tile(values, qkv + at.qkv + 2 * sizes.channels, stride, first, last, used);
    __syncthreads();
    if (!mine) {
      continue;
    }
    for (int j = 0; j < tile && first + j <= query; ++j) {
      float const score = dot(q, keys[j]) * scale;
      if (score > largest) {
        float const shrink = __expf(largest - score);
        sum *= shrink;
#pragma unroll
        for (int i = 0; i < Size; ++i) {
          o[i] *= shrink;
        }
        largest = score;
      }
      float const p = __expf(score - largest);
      sum += p;
      add_scaled(o, p, values[j]);
    }
  }
  if (mine) {
    float const inverse = 1.0f / sum;
#pragma unroll
    for (int i = 0; i < Size; ++i) {
      o[i] *= inverse;
    }
    store_row(out + at.out + query * sizes.channels, o, used);
    logsums[at.row + query] = largest + logf(sum);
  }
}

/// A thread a query: its gradient, and `deltas`, the product of output and output's gradient.
template <class T, int Size>
__global__ void __launch_bounds__(threads) queries_kernel(T* d_qkv,
                                                          float* deltas,
                                                          T const* d_out,
                                                          T const* qkv,
                                                          T const* out,
                                                          float const* logsums,
                                                          attention_sizes sizes,
                                                          float scale) {
  __shared__ float keys[tile][Size];
  __shared__ float values[tile][Size];
  place const at = place_of(sizes);
  std::int64_t const stride = 3 * sizes.channels;
  int const used = static_cast<int>(sizes.channels / sizes.heads);
  std::int64_t const query = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  bool const mine = query < sizes.length;
  float q[Size] = {};
  float d[Size] = {};
  float dq[Size] = {};
  float delta = 0;
  float logsum = 0;
  if (mine) {
    load_row(q, out + at.out + query * sizes.channels, used);
    load_row(d, d_out + at.out + query * sizes.channels, used);
    delta = dot(q, d);
    load_row(q, qkv + at.qkv + query * stride, used);
    logsum = logsums[at.row + query];
    deltas[at.row + query] = delta;
  }
  std::int64_t const block_end = (std::int64_t{blockIdx.x} + 1) * threads;
  std::int64_t const last = block_end < sizes.length ? block_end : sizes.length;
  for (std::int64_t first = 0; first < last; first += tile) {
    __syncthreads();
    load_tile(keys, qkv + at.qkv + sizes.channels, stride, first, last, used);
    load_tile(values, qkv + at.qkv + 2 * sizes.channels, stride, first, last, used);
    __syncthreads();
    if (!mine) {
      continue;
    }
    for (int j = 0; j < tile && first + j <= query; ++j) {
      float const p = __expf(dot(q, keys[j]) * scale - logsum);
      add_scaled(dq, p * (dot(d, values[j]) - delta) * scale, keys[j]);
    }
  }
  if (mine) {
    store_row(d_qkv + at.qkv + query * stride, dq, used);
  }
}

/// A thread a key: the gradients of the key and its value, over the queries in order.
template <class T, int Size>
__global__ void __launch_bounds__(threads) keys_kernel(T* d_qkv,
                                                       float const* deltas,
                                                       T const* d_out,
                                                       T const* qkv,
                                                       float const* logsums,
                                                       attention_sizes sizes,
                                                       float scale) {
  __shared__ float queries[tile][Size];
  __shared__ float gradients[tile][Size];
  place const at = place_of(sizes);
  std::int64_t const stride = 3 * sizes.channels;
  int const used = static_cast<int>(sizes.channels / sizes.heads);
  std::int64_t const key = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  bool const mine = key < sizes.length;
  float k[Size] = {};
  float v[Size] = {};
  float dk[Size] = {};
  float dv[Size] = {};
  if (mine) {
    load_row(k, qkv + at.qkv + sizes.channels + key * stride, used);
    load_row(v, qkv + at.qkv + 2 * sizes.channels + key * stride, used);
  }
  for (std::int64_t first = std::int64_t{blockIdx.x} * threads; first < sizes.length;
       first += tile) {
    __syncthreads();
    load_tile(queries, qkv + at.qkv, stride, first, sizes.length, used);
    load_tile(gradients, d_out + at.out, sizes.channels, first, sizes.length, used);
    __syncthreads();
    if (!mine) {
      continue;
    }
    for (int j = 0; j < tile && first + j < sizes.length; ++j) {
      if (first + j < key) {
        continue;
      }
      float const p = __expf(dot(k, queries[j]) * scale - logsums[at.row + first + j]);
      add_scaled(dv, p, gradients[j]);
      float const ds = p * (dot(v, gradients[j]) - deltas[at.row + first + j]) * scale;
      add_scaled(dk, ds, queries[j]);
    }
  }
  if (mine) {
    store_row(d_qkv + at.qkv + sizes.channels + key * stride, dk, used);
    store_row(d_qkv + at.qkv + 2 * sizes.channels + key * stride, dv, used);
  }
}

template <class T, int Size>
class plain_attention final : public attention {
 public:
  explicit plain_attention(attention_sizes const& sizes)
      : sizes_(sizes),
        scale_(1.0f / std::sqrt(static_cast<float>(sizes.head_size()))),
        grid_(static_cast<unsigned>((sizes.length + threads - 1) / threads),
              static_cast<unsigned>(sizes.batch * sizes.heads)),
        deltas_(sizes.batch * sizes.heads * sizes.length * std::int64_t{sizeof(float)},
                "attention") {}

  void forward(cudaStream_t stream, void* out, float* logsums, void const* qkv) override {
    forward_kernel<T, Size><<<grid_, threads, 0, stream>>>(
        static_cast<T*>(out), logsums, static_cast<T const*>(qkv), sizes_, scale_);
    zero::check_cuda(cudaGetLastError(), "train_gpt::attention_forward");
  }

  void backward(cudaStream_t stream,
                void* d_qkv,
                void const* d_out,
                void const* qkv,
                void const* out,
                float const* logsums) override {
    auto* const deltas = static_cast<float*>(deltas_.get());
    queries_kernel<T, Size><<<grid_, threads, 0, stream>>>(static_cast<T*>(d_qkv),
                                                           deltas,
                                                           static_cast<T const*>(d_out),
                                                           static_cast<T const*>(qkv),
                                                           static_cast<T const*>(out),
                                                           logsums,
                                                           sizes_,
                                                           scale_);
    keys_kernel<T, Size><<<grid_, threads, 0, stream>>>(static_cast<T*>(d_qkv),
                                                        deltas,
                                                        static_cast<T const*>(d_out),
                                                        static_cast<T const*>(qkv),
                                                        logsums,
                                                        sizes_,
                                                        scale_);
    zero::check_cuda(cudaGetLastError(), "train_gpt::attention_backward");
  }

  [[nodiscard]] std::string name() const override { return "plain kernels"; }

 private:
  attention_sizes sizes_;
  float scale_;
  dim3 grid_;
  zero::gpu::memory deltas_;
};

template <class T>
std::unique_ptr<attention> make_plain(attention_sizes const& sizes) {
  std::int64_t const size = sizes.head_size();
  zero::precondition(
      size <= largest_plain_head && size % 8 == 0,
      "train_gpt: the plain attention needs heads of at most 128 channels, a multiple "
      "of 8");
  if (size <= 32) {
    return std::make_unique<plain_attention<T, 32>>(sizes);
  }
  if (size <= 64) {
    return std::make_unique<plain_attention<T, 64>>(sizes);
  }
  return std::make_unique<plain_attention<T, 128>>(sizes);
}

}  // namespace

std::unique_ptr<attention> make_plain_attention(zero::dtype type, attention_sizes const& sizes) {
  switch (type) {
    case zero::dtype::fp32:
      return make_plain<float>(sizes);
    case zero::dtype::bf16:
      return make_plain<zero::bf16>(sizes);
    case zero::dtype::fp16:
      return make_plain<zero::fp16>(sizes);
  }
  return nullptr;
}

}  // namespace train_gpt::gpu
