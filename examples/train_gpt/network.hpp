// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shape.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace train_gpt {

/// Addresses of a layer norm's parameters, or of their gradients.
template <class Real>
struct norm_pointers {
  Real* weight;
  Real* bias;
};

/// Addresses of a matrix and its bias, or of their gradients.
template <class Real>
struct linear_pointers {
  Real* weight;
  Real* bias;
};

/// Addresses of the embeddings, or of their gradients.
template <class Real>
struct embedding_pointers {
  Real* tokens;
  Real* positions;
};

/// Addresses of a block's parameters, or of their gradients.
template <class Real>
struct block_pointers {
  norm_pointers<Real> norm1;
  linear_pointers<Real> qkv;
  linear_pointers<Real> out;
  norm_pointers<Real> norm2;
  linear_pointers<Real> up;
  linear_pointers<Real> down;
};

/// The computation of a GPT, unit by unit, with the activations between them. It owns no parameter:
/// each call is handed those of one unit, and only for as long as it runs, because under ZeRO they
/// are not there at other times.
///
/// A micro-step calls, in this order: `begin`; `embed`, `block` 0, 1, ..., `norm`, `head`; then, to
/// train, `head_backward`, `norm_backward`, `block_backward` ..., 1, 0, `embed_backward`. All
/// memory is allocated by the constructor.
template <class Real>
class network {
 public:
  /// For windows of up to `shape.context` tokens, up to `batch` of them at a time.
  network(gpt_shape const& shape, std::int64_t batch);

  /// Names the tokens of a pass [batch, length]; they must stay where they are until its end.
  void begin(std::uint8_t const* tokens, std::int64_t batch, std::int64_t length);

  void embed(embedding_pointers<Real const> const& weights);
  void block(std::int64_t layer, block_pointers<Real const> const& weights);
  void norm(norm_pointers<Real const> const& weights);

  /// The mean over the tokens of -log p(target). Leaves `gradient_scale` times the gradient of this
  /// mean for the backward pass.
  [[nodiscard]] double head(embedding_pointers<Real const> const& weights,
                            std::uint8_t const* targets,
                            Real gradient_scale);

  /// The probabilities of what follows the last token of the first window; instead of `head`.
  [[nodiscard]] std::span<Real const> predict(embedding_pointers<Real const> const& weights);

  /// Overwrites the gradient of the tokens' embedding.
  void head_backward(embedding_pointers<Real const> const& weights,
                     embedding_pointers<Real> const& gradients);
  void norm_backward(norm_pointers<Real const> const& weights,
                     norm_pointers<Real> const& gradients);
  void block_backward(std::int64_t layer,
                      block_pointers<Real const> const& weights,
                      block_pointers<Real> const& gradients);

  /// Overwrites both gradients.
  void embed_backward(embedding_pointers<Real> const& gradients);

 private:
  /// What a block leaves for its backward pass, after its input, which the block before it owns.
  struct block_activations {
    Real* norm1;
    Real* mean1;
    Real* scale1;
    Real* qkv;
    Real* probabilities;
    Real* attended;
    Real* middle;  ///< the residual stream between attention and perceptron
    Real* norm2;
    Real* mean2;
    Real* scale2;
    Real* up;
    Real* gelu;
    Real* output;  ///< the residual stream after the block
  };

  [[nodiscard]] Real const* input_of(std::int64_t layer) const;

  gpt_shape shape_;
  std::int64_t batch_ = 0;
  std::int64_t length_ = 0;
  std::int64_t rows_ = 0;
  std::uint8_t const* tokens_ = nullptr;

  std::unique_ptr<Real[]> memory_;
  Real* embedded_ = nullptr;
  std::vector<block_activations> blocks_;
  Real* normed_ = nullptr;
  Real* mean_ = nullptr;
  Real* scale_ = nullptr;
  Real* logits_ = nullptr;

  // The backward pass: the residual stream's gradient, and others that live within one call.
  Real* d_stream_ = nullptr;
  Real* d_narrow_ = nullptr;         ///< [rows, channels]
  Real* d_wide_ = nullptr;           ///< [rows, 4 channels]
  Real* d_probabilities_ = nullptr;  ///< [context, context]
};

extern template class network<float>;
extern template class network<double>;

}  // namespace train_gpt
