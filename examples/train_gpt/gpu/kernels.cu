// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"
#include "vector.cuh"

#include <zero/core/error.hpp>
#include <zero/device/gpu/error.hpp>

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

namespace train_gpt::gpu {

namespace {

constexpr int warps = 8;          // of a block, where rows are dealt out to warps
constexpr int norm_blocks = 264;  // whose partial sums of a norm's gradient are added up
constexpr int bias_parts = 64;    // likewise of a bias

void launched(char const* name) {
  zero::check_cuda(cudaGetLastError(), name);
}

unsigned blocks_for(std::int64_t work, std::int64_t block) {
  return static_cast<unsigned>((work + block - 1) / block);
}

__global__ void copy_windows_kernel(std::uint8_t* tokens,
                                    std::uint8_t* targets,
                                    std::uint8_t const* text,
                                    window_list const windows,
                                    std::int64_t length) {
  std::uint8_t const* const from = text + windows.first[blockIdx.x];
  std::int64_t const to = blockIdx.x * length;
  for (std::int64_t i = threadIdx.x; i < length; i += blockDim.x) {
    tokens[to + i] = from[i];
    targets[to + i] = from[i + 1];
  }
}

template <class T>
__global__ void embed_kernel(T* out,
                             std::uint8_t const* token,
                             T const* tokens,
                             T const* positions,
                             std::int64_t rows,
                             std::int64_t length,
                             std::int64_t channels) {
  std::int64_t const width = channels / lanes<T>;
  std::int64_t const i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= rows * width) {
    return;
  }
  std::int64_t const row = i / width;
  std::int64_t const column = i % width * lanes<T>;
  float a[lanes<T>];
  float b[lanes<T>];
  load(a, tokens + token[row] * channels + column);
  load(b, positions + row % length * channels + column);
#pragma unroll
  for (int k = 0; k < lanes<T>; ++k) {
    a[k] += b[k];
  }
  store(out + row * channels + column, a);
}

template <class T>
__global__ void one_hot_kernel(T* out, std::uint8_t const* token, std::int64_t rows) {
  constexpr int width = 256 / lanes<T>;
  std::int64_t const i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= rows * width) {
    return;
  }
  int const first = static_cast<int>(i % width) * lanes<T>;
  int const hot = token[i / width];
  float x[lanes<T>];
#pragma unroll
  for (int k = 0; k < lanes<T>; ++k) {
    x[k] = first + k == hot ? 1.0f : 0.0f;
  }
  store(out + i * lanes<T>, x);
}

template <class T>
__global__ void positions_kernel(T* d_positions,
                                 T const* d,
                                 std::int64_t batch,
                                 std::int64_t window /*elements*/) {
  std::int64_t const i = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * lanes<T>;
  if (i >= window) {
    return;
  }
  float sum[lanes<T>] = {};
  for (std::int64_t b = 0; b < batch; ++b) {
    float x[lanes<T>];
    load(x, d + b * window + i);
#pragma unroll
    for (int k = 0; k < lanes<T>; ++k) {
      sum[k] += x[k];
    }
  }
  store(d_positions + i, sum);
}

/// A warp a row; `Vectors` accesses of 16 bytes a lane hold it.
template <class T, int Vectors>
__global__ void __launch_bounds__(32 * warps) norm_forward_kernel(T* out,
                                                                  float* mean,
                                                                  float* scale,
                                                                  T const* in,
                                                                  T const* weight,
                                                                  T const* bias,
                                                                  std::int64_t rows,
                                                                  std::int64_t channels) {
  std::int64_t const row = std::int64_t{blockIdx.x} * warps + threadIdx.x / 32;
  int const lane = threadIdx.x % 32;
  if (row >= rows) {
    return;
  }
  float x[Vectors][lanes<T>];
  float sum = 0;
#pragma unroll
  for (int v = 0; v < Vectors; ++v) {
    int const column = (v * 32 + lane) * lanes<T>;
    if (column < channels) {
      load(x[v], in + row * channels + column);
#pragma unroll
      for (int k = 0; k < lanes<T>; ++k) {
        sum += x[v][k];
      }
    }
  }
  float const m = warp_sum(sum) / static_cast<float>(channels);
  float squares = 0;
#pragma unroll
  for (int v = 0; v < Vectors; ++v) {
    if ((v * 32 + lane) * lanes<T> < channels) {
#pragma unroll
      for (int k = 0; k < lanes<T>; ++k) {
        squares += (x[v][k] - m) * (x[v][k] - m);
      }
    }
  }
  float const s = rsqrtf(warp_sum(squares) / static_cast<float>(channels) + 1e-5f);
#pragma unroll
  for (int v = 0; v < Vectors; ++v) {
    int const column = (v * 32 + lane) * lanes<T>;
    if (column < channels) {
      float w[lanes<T>];
      float b[lanes<T>];
      load(w, weight + column);
      load(b, bias + column);
#pragma unroll
      for (int k = 0; k < lanes<T>; ++k) {
        x[v][k] = (x[v][k] - m) * s * w[k] + b[k];
      }
      store(out + row * channels + column, x[v]);
    }
  }
  if (lane == 0) {
    mean[row] = m;
    scale[row] = s;
  }
}

/// Rows are dealt out to the warps of all blocks. Each lane sums the gradients of its columns'
/// weights in registers, each block in shared memory; the blocks' sums go to `partials`
/// [2, norm_blocks, channels].
template <class T, int Vectors>
__global__ void __launch_bounds__(32 * warps) norm_backward_kernel(T* d_in,
                                                                   float* partials,
                                                                   T const* d_out,
                                                                   T const* in,
                                                                   float const* mean,
                                                                   float const* scale,
                                                                   T const* weight,
                                                                   bool add,
                                                                   std::int64_t rows,
                                                                   std::int64_t channels) {
  constexpr int width = lanes<T>;
  __shared__ float shared[warps][32 * width];
  int const warp = threadIdx.x / 32;
  int const lane = threadIdx.x % 32;
  float d_weight[Vectors][width] = {};
  float d_bias[Vectors][width] = {};
  for (std::int64_t row = std::int64_t{blockIdx.x} * warps + warp; row < rows;
       row += std::int64_t{gridDim.x} * warps) {
    float const m = mean[row];
    float const s = scale[row];
    float normal[Vectors][width];
    float d[Vectors][width];
    float sum = 0;         // of the normalised row's gradient
    float projection = 0;  // of that gradient on the normalised row
#pragma unroll
    for (int v = 0; v < Vectors; ++v) {
      int const column = (v * 32 + lane) * width;
      if (column < channels) {
        float w[width];
        load(normal[v], in + row * channels + column);
        load(d[v], d_out + row * channels + column);
        load(w, weight + column);
#pragma unroll
        for (int k = 0; k < width; ++k) {
          normal[v][k] = (normal[v][k] - m) * s;
          d_weight[v][k] += d[v][k] * normal[v][k];
          d_bias[v][k] += d[v][k];
          d[v][k] *= w[k];
          sum += d[v][k];
          projection += d[v][k] * normal[v][k];
        }
      }
    }
    sum = warp_sum(sum) / static_cast<float>(channels);
    projection = warp_sum(projection) / static_cast<float>(channels);
#pragma unroll
    for (int v = 0; v < Vectors; ++v) {
      int const column = (v * 32 + lane) * width;
      if (column < channels) {
        float x[width] = {};
        if (add) {
          load(x, d_in + row * channels + column);
        }
#pragma unroll
        for (int k = 0; k < width; ++k) {
          x[k] += (d[v][k] - sum - normal[v][k] * projection) * s;
        }
        store(d_in + row * channels + column, x);
      }
    }
  }
  for (int which = 0; which < 2; ++which) {
    float* const out = partials + (which * norm_blocks + blockIdx.x) * channels;
#pragma unroll
    for (int v = 0; v < Vectors; ++v) {
#pragma unroll
      for (int k = 0; k < width; ++k) {
        shared[warp][k * 32 + lane] = which == 0 ? d_weight[v][k] : d_bias[v][k];
      }
      __syncthreads();
      for (int i = threadIdx.x; i < 32 * width; i += 32 * warps) {
        std::int64_t const column = (v * 32 + i % 32) * width + i / 32;
        if (column < channels) {
          float total = 0;
#pragma unroll
          for (int w = 0; w < warps; ++w) {
            total += shared[w][i];
          }
          out[column] = total;
        }
      }
      __syncthreads();
    }
  }
}

/// out[which][c] = the sum of `parts` rows of partials[which] [parts, width].
template <class T>
__global__ void __launch_bounds__(1024)
    sum_parts_kernel(T* first, T* second, float const* partials, int parts, std::int64_t width) {
  __shared__ float shared[32][33];
  std::int64_t const column = std::int64_t{blockIdx.x} * 32 + threadIdx.x % 32;
  int const group = threadIdx.x / 32;
  float const* const from = partials + std::int64_t{blockIdx.y} * parts * width;
  float sum = 0;
  if (column < width) {
    for (int part = group; part < parts; part += 32) {
      sum += from[part * width + column];
    }
  }
  shared[group][threadIdx.x % 32] = sum;
  __syncthreads();
  // Now a warp a column.
  float const total = warp_sum(shared[threadIdx.x % 32][group]);
  std::int64_t const mine = std::int64_t{blockIdx.x} * 32 + group;
  if (threadIdx.x % 32 == 0 && mine < width) {
    (blockIdx.y == 0 ? first : second)[mine] = narrow_one<T>(total);
  }
}

/// Each block sums a part of the rows for 32 accesses' columns.
template <class T>
__global__ void __launch_bounds__(32 * warps)
    bias_kernel(float* partials, T const* d, std::int64_t rows, std::int64_t width) {
  __shared__ float shared[warps][32 * lanes<T>];
  int const warp = threadIdx.x / 32;
  int const lane = threadIdx.x % 32;
  std::int64_t const column = (std::int64_t{blockIdx.x} * 32 + lane) * lanes<T>;
  std::int64_t const part = (rows + bias_parts - 1) / bias_parts;
  std::int64_t const first = blockIdx.y * part;
  std::int64_t const last = first + part < rows ? first + part : rows;
  float sum[lanes<T>] = {};
  if (column < width) {
#pragma unroll 4
    for (std::int64_t row = first + warp; row < last; row += warps) {
      float x[lanes<T>];
      load(x, d + row * width + column);
#pragma unroll
      for (int k = 0; k < lanes<T>; ++k) {
        sum[k] += x[k];
      }
    }
  }
#pragma unroll
  for (int k = 0; k < lanes<T>; ++k) {
    shared[warp][k * 32 + lane] = sum[k];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 32 * lanes<T>; i += 32 * warps) {
    std::int64_t const c = (std::int64_t{blockIdx.x} * 32 + i % 32) * lanes<T> + i / 32;
    if (c < width) {
      float total = 0;
#pragma unroll
      for (int w = 0; w < warps; ++w) {
        total += shared[w][i];
      }
      partials[blockIdx.y * width + c] = total;
    }
  }
}

/// 2 u of GELU's tanh(u) = 2 sigmoid(2 u) - 1, as sigmoid.
__device__ float gelu_sigmoid(float x) {
  float const u = 1.5957691216057308f * (x + 0.044715f * x * x * x);
  return 1.0f / (1.0f + __expf(-u));
}

template <class T>
__global__ void gelu_forward_kernel(T* out, T const* in, std::int64_t count) {
  std::int64_t const i = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * lanes<T>;
  if (i >= count) {
    return;
  }
  float x[lanes<T>];
  load(x, in + i);
#pragma unroll
  for (int k = 0; k < lanes<T>; ++k) {
    x[k] *= gelu_sigmoid(x[k]);
  }
  store(out + i, x);
}

template <class T>
__global__ void gelu_backward_kernel(T* d, T const* in, std::int64_t count) {
  std::int64_t const i = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * lanes<T>;
  if (i >= count) {
    return;
  }
  float x[lanes<T>];
  float y[lanes<T>];
  load(x, in + i);
  load(y, d + i);
#pragma unroll
  for (int k = 0; k < lanes<T>; ++k) {
    float const s = gelu_sigmoid(x[k]);
    float const slope = 1.5957691216057308f * (1 + 3 * 0.044715f * x[k] * x[k]);
    y[k] *= s + x[k] * s * (1 - s) * slope;
  }
  store(d + i, y);
}

constexpr int row_threads = 512;

/// A block a row. `kept`: the row is kept in shared memory between the two sweeps.
template <class T>
__global__ void __launch_bounds__(row_threads) cross_entropy_kernel(T* logits,
                                                                    float* losses,
                                                                    std::uint8_t const* target,
                                                                    float const* loss_scale,
                                                                    float gradient_scale,
                                                                    bool gradients,
                                                                    std::int64_t width,
                                                                    bool kept) {
  extern __shared__ uint4 row_memory[];
  __shared__ float largest_of[row_threads / 32];
  __shared__ float sum_of[row_threads / 32];
  std::int64_t const row = blockIdx.x;
  T* const p = logits + row * width;
  T* const copy = reinterpret_cast<T*>(row_memory);
  int const chosen_column = target[row];
  float const chosen = widen_one(p[chosen_column]);

  float largest = -INFINITY;
  float sum = 0;  // of exponentials relative to `largest`
  for (std::int64_t i = std::int64_t{threadIdx.x} * lanes<T>; i < width;
       i += row_threads * lanes<T>) {
    if (kept) {
      *reinterpret_cast<uint4*>(copy + i) = *reinterpret_cast<uint4 const*>(p + i);
    }
    float x[lanes<T>];
    load(x, kept ? copy + i : p + i);
    float top = x[0];
#pragma unroll
    for (int k = 1; k < lanes<T>; ++k) {
      top = fmaxf(top, x[k]);
    }
    if (top > largest) {
      sum *= __expf(largest - top);
      largest = top;
    }
#pragma unroll
    for (int k = 0; k < lanes<T>; ++k) {
      sum += __expf(x[k] - largest);
    }
  }
  float const warp_largest = warp_max(largest);
  sum = warp_sum(largest == -INFINITY ? 0.0f : sum * __expf(largest - warp_largest));
  if (threadIdx.x % 32 == 0) {
    largest_of[threadIdx.x / 32] = warp_largest;
    sum_of[threadIdx.x / 32] = sum;
  }
  __syncthreads();
  largest = -INFINITY;
#pragma unroll
  for (int w = 0; w < row_threads / 32; ++w) {
    largest = fmaxf(largest, largest_of[w]);
  }
  sum = 0;
#pragma unroll
  for (int w = 0; w < row_threads / 32; ++w) {
    sum += sum_of[w] == 0 ? 0.0f : sum_of[w] * __expf(largest_of[w] - largest);
  }
  if (threadIdx.x == 0) {
    losses[row] = logf(sum) - (chosen - largest);
  }
  if (!gradients) {
    return;
  }
  float const scale = gradient_scale * *loss_scale;
  float const factor = scale / sum;
  for (std::int64_t i = std::int64_t{threadIdx.x} * lanes<T>; i < width;
       i += row_threads * lanes<T>) {
    float x[lanes<T>];
    load(x, kept ? copy + i : p + i);
#pragma unroll
    for (int k = 0; k < lanes<T>; ++k) {
      x[k] = __expf(x[k] - largest) * factor - (i + k == chosen_column ? scale : 0.0f);
    }
    store(p + i, x);
  }
}

/// The most shared memory that a block of the current device may ask for.
std::int64_t shared_memory_of_a_block() {
  int device = 0;
  int bytes = 0;
  zero::check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  zero::check_cuda(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
                   "cudaDeviceGetAttribute");
  return bytes;
}

constexpr int sum_threads = 1024;

__global__ void __launch_bounds__(sum_threads)
    sum_losses_kernel(double* total, float const* losses, std::int64_t n, double factor, bool add) {
  __shared__ double shared[sum_threads];
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < n; i += sum_threads) {
    sum += static_cast<double>(losses[i]);
  }
  shared[threadIdx.x] = sum;
  for (int stride = sum_threads / 2; stride > 0; stride /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < stride) {
      shared[threadIdx.x] += shared[threadIdx.x + stride];
    }
  }
  if (threadIdx.x == 0) {
    *total = (add ? *total : 0.0) + factor * shared[0];
  }
}

template <class T>
__global__ void logits_kernel(
    float* out, T const* x, T const* weight, std::int64_t width, std::int64_t channels) {
  std::int64_t const row = std::int64_t{blockIdx.x} * warps + threadIdx.x / 32;
  if (row >= width) {
    return;
  }
  float sum = 0;
  for (std::int64_t c = threadIdx.x % 32; c < channels; c += 32) {
    sum += widen_one(x[c]) * widen_one(weight[row * channels + c]);
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) {
    out[row] = sum;
  }
}

/// Calls f with the number of accesses a lane needs for a row, as a type, rounded up.
template <class T, class F>
void with_vectors(std::int64_t channels, F f) {
  std::int64_t const needed = (channels + 32 * lanes<T> - 1) / (32 * lanes<T>);
  zero::precondition(needed <= 32, "train_gpt: these rows are too wide for the GPU's layer norm");
  auto const call = [&]<int Count>() { f.template operator()<Count>(); };
  needed <= 1   ? call.template operator()<1>()
  : needed <= 2 ? call.template operator()<2>()
  : needed <= 3 ? call.template operator()<3>()
  : needed <= 4 ? call.template operator()<4>()
  : needed <= 8 ? call.template operator()<8>()
                : call.template operator()<32>();
}

}  // namespace

void copy_windows(cudaStream_t stream,
                  std::uint8_t* tokens,
                  std::uint8_t* targets,
                  std::uint8_t const* text,
                  window_list const& windows,
                  int count,
                  std::int64_t length) {
  copy_windows_kernel<<<static_cast<unsigned>(count), 256, 0, stream>>>(
      tokens, targets, text, windows, length);
  launched("train_gpt::copy_windows");
}

template <class T>
void embed_forward(cudaStream_t stream,
                   T* out,
                   std::uint8_t const* token,
                   T const* tokens,
                   T const* positions,
                   std::int64_t rows,
                   std::int64_t length,
                   std::int64_t channels) {
  embed_kernel<<<blocks_for(rows * channels / lanes<T>, 256), 256, 0, stream>>>(
      out, token, tokens, positions, rows, length, channels);
  launched("train_gpt::embed_forward");
}

template <class T>
void one_hot(cudaStream_t stream, T* out, std::uint8_t const* token, std::int64_t rows) {
  one_hot_kernel<<<blocks_for(rows * 256 / lanes<T>, 256), 256, 0, stream>>>(out, token, rows);
  launched("train_gpt::one_hot");
}

template <class T>
void positions_backward(cudaStream_t stream,
                        T* d_positions,
                        T const* d,
                        std::int64_t batch,
                        std::int64_t length,
                        std::int64_t channels) {
  std::int64_t const window = length * channels;
  positions_kernel<<<blocks_for(window / lanes<T>, 256), 256, 0, stream>>>(
      d_positions, d, batch, window);
  launched("train_gpt::positions_backward");
}

template <class T>
void norm_forward(cudaStream_t stream,
                  T* out,
                  float* mean,
                  float* scale,
                  T const* in,
                  T const* weight,
                  T const* bias,
                  std::int64_t rows,
                  std::int64_t channels) {
  with_vectors<T>(channels, [&]<int Vectors>() {
    norm_forward_kernel<T, Vectors><<<blocks_for(rows, warps), 32 * warps, 0, stream>>>(
        out, mean, scale, in, weight, bias, rows, channels);
  });
  launched("train_gpt::norm_forward");
}

std::int64_t norm_scratch(std::int64_t channels) {
  return 2 * norm_blocks * channels;
}

template <class T>
void norm_backward(cudaStream_t stream,
                   T* d_in,
                   T* d_weight,
                   T* d_bias,
                   T const* d_out,
                   T const* in,
                   float const* mean,
                   float const* scale,
                   T const* weight,
                   bool add,
                   float* scratch,
                   std::int64_t rows,
                   std::int64_t channels) {
  with_vectors<T>(channels, [&]<int Vectors>() {
    norm_backward_kernel<T, Vectors><<<norm_blocks, 32 * warps, 0, stream>>>(
        d_in, scratch, d_out, in, mean, scale, weight, add, rows, channels);
  });
  launched("train_gpt::norm_backward");
  sum_parts_kernel<<<dim3(blocks_for(channels, 32), 2), 1024, 0, stream>>>(
      d_weight, d_bias, scratch, norm_blocks, channels);
  launched("train_gpt::norm_backward");
}

std::int64_t bias_scratch(std::int64_t width) {
  return bias_parts * width;
}

template <class T>
void bias_backward(cudaStream_t stream,
                   T* d_bias,
                   T const* d,
                   float* scratch,
                   std::int64_t rows,
                   std::int64_t width) {
  bias_kernel<<<dim3(blocks_for(width, 32 * lanes<T>), bias_parts), 32 * warps, 0, stream>>>(
      scratch, d, rows, width);
  launched("train_gpt::bias_backward");
  sum_parts_kernel<<<dim3(blocks_for(width, 32), 1), 1024, 0, stream>>>(
      d_bias, d_bias, scratch, bias_parts, width);
  launched("train_gpt::bias_backward");
}

template <class T>
void gelu_forward(cudaStream_t stream, T* out, T const* in, std::int64_t count) {
  gelu_forward_kernel<<<blocks_for(count / lanes<T>, 256), 256, 0, stream>>>(out, in, count);
  launched("train_gpt::gelu_forward");
}

template <class T>
void gelu_backward(cudaStream_t stream, T* d, T const* in, std::int64_t count) {
  gelu_backward_kernel<<<blocks_for(count / lanes<T>, 256), 256, 0, stream>>>(d, in, count);
  launched("train_gpt::gelu_backward");
}

template <class T>
void cross_entropy(cudaStream_t stream,
                   T* logits,
                   float* losses,
                   std::uint8_t const* target,
                   float const* loss_scale,
                   float gradient_scale,
                   bool gradients,
                   std::int64_t rows,
                   std::int64_t width) {
  std::int64_t const bytes = width * static_cast<std::int64_t>(sizeof(T));
  bool const kept = gradients && bytes <= shared_memory_of_a_block() - 1024;
  if (kept && bytes > 40 * 1024) {  // beside the kernel's own arrays, more than it gets unasked
    zero::check_cuda(cudaFuncSetAttribute(cross_entropy_kernel<T>,
                                          cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          static_cast<int>(bytes)),
                     "cudaFuncSetAttribute");
  }
  cross_entropy_kernel<<<static_cast<unsigned>(rows),
                         row_threads,
                         kept ? static_cast<std::size_t>(bytes) : 0,
                         stream>>>(
      logits, losses, target, loss_scale, gradient_scale, gradients, width, kept);
  launched("train_gpt::cross_entropy");
}

void sum_losses(cudaStream_t stream,
                double* total,
                float const* losses,
                std::int64_t n,
                double factor,
                bool add) {
  sum_losses_kernel<<<1, sum_threads, 0, stream>>>(total, losses, n, factor, add);
  launched("train_gpt::sum_losses");
}

template <class T>
void logits_of_row(cudaStream_t stream,
                   float* out,
                   T const* x,
                   T const* weight,
                   std::int64_t width,
                   std::int64_t channels) {
  logits_kernel<<<blocks_for(width, warps), 32 * warps, 0, stream>>>(
      out, x, weight, width, channels);
  launched("train_gpt::logits_of_row");
}

#define TRAIN_GPT_INSTANTIATE(T)                                                                   \
  template void embed_forward(cudaStream_t,                                                        \
                              T*,                                                                  \
                              std::uint8_t const*,                                                 \
                              T const*,                                                            \
                              T const*,                                                            \
                              std::int64_t,                                                        \
                              std::int64_t,                                                        \
                              std::int64_t);                                                       \
  template void one_hot(cudaStream_t, T*, std::uint8_t const*, std::int64_t);                      \
  template void positions_backward(                                                                \
      cudaStream_t, T*, T const*, std::int64_t, std::int64_t, std::int64_t);                       \
  template void norm_forward(                                                                      \
      cudaStream_t, T*, float*, float*, T const*, T const*, T const*, std::int64_t, std::int64_t); \
  template void norm_backward(cudaStream_t,                                                        \
                              T*,                                                                  \
                              T*,                                                                  \
                              T*,                                                                  \
                              T const*,                                                            \
                              T const*,                                                            \
                              float const*,                                                        \
                              float const*,                                                        \
                              T const*,                                                            \
                              bool,                                                                \
                              float*,                                                              \
                              std::int64_t,                                                        \
                              std::int64_t);                                                       \
  template void bias_backward(cudaStream_t, T*, T const*, float*, std::int64_t, std::int64_t);     \
  template void gelu_forward(cudaStream_t, T*, T const*, std::int64_t);                            \
  template void gelu_backward(cudaStream_t, T*, T const*, std::int64_t);                           \
  template void cross_entropy(cudaStream_t,                                                        \
                              T*,                                                                  \
                              float*,                                                              \
                              std::uint8_t const*,                                                 \
                              float const*,                                                        \
                              float,                                                               \
                              bool,                                                                \
                              std::int64_t,                                                        \
                              std::int64_t);                                                       \
  template void logits_of_row(cudaStream_t, float*, T const*, T const*, std::int64_t, std::int64_t);

TRAIN_GPT_INSTANTIATE(float)
TRAIN_GPT_INSTANTIATE(zero::bf16)
TRAIN_GPT_INSTANTIATE(zero::fp16)

#undef TRAIN_GPT_INSTANTIATE

}  // namespace train_gpt::gpu
