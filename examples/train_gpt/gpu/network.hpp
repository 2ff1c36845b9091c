// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../network.hpp"
#include "../shape.hpp"
#include "attention.hpp"
#include "matmul.hpp"

#include <zero/core/dtype.hpp>
#include <zero/device/gpu/memory.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace train_gpt::gpu {

/// How the network computes.
struct network_options {
  bool deterministic = true;  ///< false: cuDNN may add with atomics, where it finds that faster
  bool cudnn = true;          ///< use its attention where it is there and serves the type
  bool fuse = true;  ///< let matrix products do biases' gradients and GELU where cuBLASLt can
};

/// `train_gpt::network` on a GPU: the computation of a GPT, unit by unit, with the activations
/// between them in the parameters' type `T` (float, zero::bf16 or zero::fp16), sums in FP32.
///
/// The order of calls is that of `train_gpt::network`. Every call enqueues on the network's stream
/// and returns; losses stay on the device. All memory is allocated, and all algorithms are chosen,
/// by the constructor. The same inputs give the same bits, unless `deterministic` is off.
template <class T>
class network {
 public:
  /// For `batch` windows of `shape.context` tokens.
  /// @throws zero::out_of_memory; std::runtime_error where a library refuses the sizes
  network(gpt_shape const& shape,
          std::int64_t batch,
          cudaStream_t stream,
          network_options const& chosen = {});

  /// Names the tokens of a pass [batch, context] in device memory.
  void begin(std::uint8_t const* tokens) { tokens_ = tokens; }

  void embed(embedding_pointers<T const> const& weights);
  void block(std::int64_t layer, block_pointers<T const> const& weights);
  void norm(norm_pointers<T const> const& weights);

  /// Puts the mean over the tokens of -log p(target), times `factor`, into `*loss`, on top of what
  /// is there if `add`. For a training pass leaves *loss_scale times the gradient of the mean.
  /// @param loss_scale device memory; null: an evaluation pass, which leaves no gradient
  void head(embedding_pointers<T const> const& weights,
            std::uint8_t const* targets,
            float const* loss_scale,
            double* loss,
            double factor,
            bool add);

  /// The logits [vocabulary] of what follows token `position` of the first window, in device
  /// memory; instead of `head`.
  [[nodiscard]] float const* predict(embedding_pointers<T const> const& weights,
                                     std::int64_t position);

  /// Overwrites the gradients of both embeddings; that of the positions becomes 0.
  void head_backward(embedding_pointers<T const> const& weights,
                     embedding_pointers<T> const& gradients);
  void norm_backward(norm_pointers<T const> const& weights, norm_pointers<T> const& gradients);
  void block_backward(std::int64_t layer,
                      block_pointers<T const> const& weights,
                      block_pointers<T> const& gradients);

  /// Adds to the tokens' gradient, overwrites the positions'.
  void embed_backward(embedding_pointers<T> const& gradients);

  /// What computes matrix products, for people: the library, and what it does on the way.
  [[nodiscard]] std::string matrix_products() const;

  /// Whether attention is cuDNN's.
  [[nodiscard]] bool uses_cudnn() const noexcept { return uses_cudnn_; }

  /// What computes attention, for people: cuDNN, or plain kernels and why.
  [[nodiscard]] std::string const& attention_name() const noexcept { return attention_name_; }

  /// Bytes of device memory for activations and workspaces.
  [[nodiscard]] std::int64_t bytes() const noexcept { return memory_.size(); }

 private:
  /// What a block leaves for its backward pass, after its input, which the block before it owns.
  struct block_activations {
    T* norm1;
    float* mean1;
    float* scale1;
    T* qkv;
    float* logsums;
    T* attended;
    T* middle;  ///< the residual stream between attention and perceptron
    T* norm2;
    float* mean2;
    float* scale2;
    T* up;  ///< the argument of GELU
    T* gelu;
    T* output;  ///< the residual stream after the block
  };

  /// The products of one linear layer: of its output, its input's gradient, its weight's gradient.
  class linear {
   public:
    linear(network& owner, std::int64_t inputs, std::int64_t outputs, epilogue after);

    /// out = in * weight^T + bias, and + `added` if given.
    void forward(
        T* out, T const* in, linear_pointers<T const> const& weights, T const* added, T* kept);

    /// @param kept if given, d_in is multiplied by GELU's slope there
    void backward(T* d_in,
                  linear_pointers<T> const& gradients,
                  T const* d_out,
                  T const* in,
                  T const* weight,
                  T const* kept);

    [[nodiscard]] bool fuses_gelu() const noexcept { return fuses_gelu_; }

    [[nodiscard]] bool fuses_slope() const noexcept { return fuses_slope_; }

    [[nodiscard]] bool fuses_bias_gradient() const noexcept { return fuses_bias_gradient_; }

   private:
    network* owner_;
    std::int64_t inputs_;
    std::int64_t outputs_;
    std::optional<matmul> forward_;
    std::optional<matmul> input_gradient_;
    std::optional<matmul> weight_gradient_;
    bool fuses_gelu_ = false;
    bool fuses_slope_ = false;
    bool fuses_bias_gradient_ = false;
  };

  [[nodiscard]] T const* input_of(std::int64_t layer) const;
  void allocate();

  gpt_shape shape_;
  std::int64_t batch_;
  std::int64_t rows_;
  cudaStream_t stream_;
  network_options chosen_;
  std::uint8_t const* tokens_ = nullptr;
  matmul_library library_;
  zero::gpu::memory memory_;

  T* embedded_ = nullptr;
  std::vector<block_activations> blocks_;
  T* normed_ = nullptr;
  float* mean_ = nullptr;
  float* scale_ = nullptr;
  T* logits_ = nullptr;
  float* losses_ = nullptr;
  float* row_logits_ = nullptr;

  // The backward pass: the residual stream's gradient, and others that live within one call.
  T* d_stream_ = nullptr;
  T* d_narrow_ = nullptr;      ///< [rows, channels]
  T* d_wide_ = nullptr;        ///< [rows, 4 channels]
  T* one_hot_ = nullptr;       ///< [rows, 256]
  float* partials_ = nullptr;  ///< sums over parts of the rows

  std::optional<linear> qkv_;
  std::optional<linear> out_;
  std::optional<linear> up_;
  std::optional<linear> down_;
  std::optional<matmul> logits_product_;
  std::optional<matmul> logits_input_gradient_;
  std::optional<matmul> logits_weight_gradient_;
  std::optional<matmul> tokens_gradient_;
  std::unique_ptr<attention> attention_;
  bool uses_cudnn_ = false;
  std::string attention_name_;
};

extern template class network<float>;
extern template class network<zero::bf16>;
extern template class network<zero::fp16>;

}  // namespace train_gpt::gpu
