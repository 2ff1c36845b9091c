// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>

namespace train_gpt::gpu {

/// Sizes of an attention call.
struct attention_sizes {
  std::int64_t batch;
  std::int64_t length;
  std::int64_t channels;
  std::int64_t heads;

  [[nodiscard]] std::int64_t head_size() const noexcept { return channels / heads; }
};

/// Causal attention on a GPU, forward and backward, without the matrix of probabilities. qkv [rows,
/// 3 channels] holds queries, keys and values side by side; `logsums` [batch, heads, length] are
/// kept for the backward pass. The same inputs give the same bits.
class attention {
 public:
  virtual ~attention() = default;

  virtual void forward(cudaStream_t stream, void* out, float* logsums, void const* qkv) = 0;

  /// Overwrites d_qkv.
  virtual void backward(cudaStream_t stream,
                        void* d_qkv,
                        void const* d_out,
                        void const* qkv,
                        void const* out,
                        float const* logsums) = 0;

  /// What computes it, for people: a library and its version, or plain kernels.
  [[nodiscard]] virtual std::string name() const = 0;
};

/// The largest size of a head that the plain kernels serve.
inline constexpr std::int64_t largest_plain_head = 128;

/// Plain kernels for any type: a thread a query, FP32 throughout. For machines without cuDNN, and
/// for FP32.
/// @pre head_size() <= largest_plain_head, a multiple of 8
[[nodiscard]] std::unique_ptr<attention> make_plain_attention(zero::dtype type,
                                                              attention_sizes const& sizes);

/// Whether this program was built with cuDNN.
[[nodiscard]] bool built_with_cudnn() noexcept;

/// cuDNN's fused attention for the 16-bit types, with its deterministic backward pass where
/// `deterministic`.
/// @param why_not  set to a reason, for people, where nothing is returned
/// @return null for FP32, and where this program was built without cuDNN or it has no plan for
/// these sizes
[[nodiscard]] std::unique_ptr<attention> make_cudnn_attention(zero::dtype type,
                                                              attention_sizes const& sizes,
                                                              bool deterministic,
                                                              std::string& why_not);

}  // namespace train_gpt::gpu
