// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>

/// The arithmetic of a GPT on a GPU, except matrix products and attention: one function a kernel.
///
/// `T` is float, zero::bf16 or zero::fp16: the type of parameters, activations and gradients. All
/// sums are in FP32 and in a fixed order, without atomics, so the same inputs give the same bits.
/// Matrices are row-major and start at multiples of 16 bytes; their width, `channels` or `width`,
/// is a multiple of 8. Calls enqueue and return. They throw zero::cuda_error where the runtime
/// refuses.
namespace train_gpt::gpu {

/// Windows of a text that lies on the device.
struct window_list {
  static constexpr int most = 64;
  std::int64_t first[most];  ///< where in the text each begins
};

/// Copies `count` windows out of the text: tokens [count, length], and the token after each.
void copy_windows(cudaStream_t stream,
                  std::uint8_t* tokens,
                  std::uint8_t* targets,
                  std::uint8_t const* text,
                  window_list const& windows,
                  int count,
                  std::int64_t length);

/// out[r] = tokens[token[r]] + positions[r mod length].
template <class T>
void embed_forward(cudaStream_t stream,
                   T* out,
                   std::uint8_t const* token,
                   T const* tokens,
                   T const* positions,
                   std::int64_t rows,
                   std::int64_t length,
                   std::int64_t channels);

/// out [rows, 256] = 1 where the row's token is, else 0: the tokens' embedding as a matrix product.
template <class T>
void one_hot(cudaStream_t stream, T* out, std::uint8_t const* token, std::int64_t rows);

/// d_positions[t] = the sum over the batch of d[b, t].
template <class T>
void positions_backward(cudaStream_t stream,
                        T* d_positions,
                        T const* d,
                        std::int64_t batch,
                        std::int64_t length,
                        std::int64_t channels);

/// Normalises each row and keeps its mean and 1 / standard deviation for the backward pass.
/// @pre channels <= widest_norm<T>
template <class T>
void norm_forward(cudaStream_t stream,
                  T* out,
                  float* mean,
                  float* scale,
                  T const* in,
                  T const* weight,
                  T const* bias,
                  std::int64_t rows,
                  std::int64_t channels);

/// The widest row that the norm's kernels keep in registers.
template <class T>
inline constexpr std::int64_t widest_norm = 32 * 32 * (16 / static_cast<std::int64_t>(sizeof(T)));

/// Writes the input's gradient into d_in, on top of what is there if `add`; overwrites d_weight and
/// d_bias.
/// @param scratch norm_scratch(channels) floats
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
                   std::int64_t channels);

[[nodiscard]] std::int64_t norm_scratch(std::int64_t channels);

/// d_bias = the sum of the rows of d [rows, width].
/// @param scratch bias_scratch(width) floats
template <class T>
void bias_backward(cudaStream_t stream,
                   T* d_bias,
                   T const* d,
                   float* scratch,
                   std::int64_t rows,
                   std::int64_t width);

[[nodiscard]] std::int64_t bias_scratch(std::int64_t width);

/// GPT-2's GELU, with the hyperbolic tangent.
template <class T>
void gelu_forward(cudaStream_t stream, T* out, T const* in, std::int64_t count);

/// d becomes the gradient of the input, in place.
template <class T>
void gelu_backward(cudaStream_t stream, T* d, T const* in, std::int64_t count);

/// Turns logits [rows, width] into gradient_scale * *loss_scale times the gradient of the sum over
/// the rows of -log softmax(logits)[target], in place, and writes each row's part of that sum. One
/// read and one write where a row fits in shared memory. Without `gradients` the logits stay.
template <class T>
void cross_entropy(cudaStream_t stream,
                   T* logits,
                   float* losses,
                   std::uint8_t const* target,
                   float const* loss_scale,
                   float gradient_scale,
                   bool gradients,
                   std::int64_t rows,
                   std::int64_t width);

/// *total = (add ? *total : 0) + factor * the sum of n numbers, in FP64.
void sum_losses(cudaStream_t stream,
                double* total,
                float const* losses,
                std::int64_t n,
                double factor,
                bool add);

/// out [width] = weight [width, channels] * x: the logits of one token.
template <class T>
void logits_of_row(cudaStream_t stream,
                   float* out,
                   T const* x,
                   T const* weight,
                   std::int64_t width,
                   std::int64_t channels);

}  // namespace train_gpt::gpu
