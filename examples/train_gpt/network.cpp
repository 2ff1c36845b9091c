// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"
#include "network.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace train_gpt {

template <class Real>
network<Real>::network(gpt_shape const& shape, std::int64_t batch)
    : shape_(shape),
      blocks_(static_cast<std::size_t>(shape.layers)) {
  std::int64_t const rows = batch * shape.context;
  std::int64_t const channels = shape.channels;
  std::int64_t const squares = shape.context * shape.context;

  // Run twice: first to count, then to hand out the memory.
  std::int64_t used = 0;
  auto const take = [&](Real*& buffer, std::int64_t count) {
    buffer = memory_ ? memory_.get() + used : nullptr;
    used += (count + 15) / 16 * 16;
  };
  auto const take_all = [&] {
    used = 0;
    take(embedded_, rows * channels);
    for (block_activations& a : blocks_) {
      take(a.norm1, rows * channels);
      take(a.mean1, rows);
      take(a.scale1, rows);
      take(a.qkv, rows * 3 * channels);
      take(a.probabilities, batch * shape.heads * squares);
      take(a.attended, rows * channels);
      take(a.middle, rows * channels);
      take(a.norm2, rows * channels);
      take(a.mean2, rows);
      take(a.scale2, rows);
      take(a.up, rows * 4 * channels);
      take(a.gelu, rows * 4 * channels);
      take(a.output, rows * channels);
    }
    take(normed_, rows * channels);
    take(mean_, rows);
    take(scale_, rows);
    take(logits_, rows * shape.vocabulary);
    take(d_stream_, rows * channels);
    take(d_narrow_, rows * channels);
    take(d_wide_, rows * 4 * channels);
    take(d_probabilities_, squares);
  };
  take_all();
  memory_ = std::make_unique<Real[]>(static_cast<std::size_t>(used));
  take_all();
}

template <class Real>
void network<Real>::begin(std::uint8_t const* tokens, std::int64_t batch, std::int64_t length) {
  tokens_ = tokens;
  batch_ = batch;
  length_ = length;
  rows_ = batch * length;
}

template <class Real>
Real const* network<Real>::input_of(std::int64_t layer) const {
  return layer == 0 ? embedded_ : blocks_[static_cast<std::size_t>(layer - 1)].output;
}

template <class Real>
void network<Real>::embed(embedding_pointers<Real const> const& weights) {
  embed_forward(
      embedded_, tokens_, weights.tokens, weights.positions, batch_, length_, shape_.channels);
}

template <class Real>
void network<Real>::block(std::int64_t layer, block_pointers<Real const> const& w) {
  block_activations const& a = blocks_[static_cast<std::size_t>(layer)];
  std::int64_t const channels = shape_.channels;
  Real const* const input = input_of(layer);

  norm_forward(a.norm1, a.mean1, a.scale1, input, w.norm1.weight, w.norm1.bias, rows_, channels);
  linear_forward(a.qkv, a.norm1, w.qkv.weight, w.qkv.bias, rows_, channels, 3 * channels);
  attention_forward(a.attended, a.probabilities, a.qkv, {batch_, length_, channels, shape_.heads});
  linear_forward(a.middle, a.attended, w.out.weight, w.out.bias, rows_, channels, channels);
  add(a.middle, a.middle, input, rows_ * channels);

  norm_forward(a.norm2, a.mean2, a.scale2, a.middle, w.norm2.weight, w.norm2.bias, rows_, channels);
  linear_forward(a.up, a.norm2, w.up.weight, w.up.bias, rows_, channels, 4 * channels);
  gelu_forward(a.gelu, a.up, rows_ * 4 * channels);
  linear_forward(a.output, a.gelu, w.down.weight, w.down.bias, rows_, 4 * channels, channels);
  add(a.output, a.output, a.middle, rows_ * channels);
}

template <class Real>
void network<Real>::norm(norm_pointers<Real const> const& w) {
  norm_forward(
      normed_, mean_, scale_, input_of(shape_.layers), w.weight, w.bias, rows_, shape_.channels);
}

template <class Real>
double network<Real>::head(embedding_pointers<Real const> const& weights,
                           std::uint8_t const* targets,
                           Real gradient_scale) {
  Real const* const no_bias = nullptr;
  std::int64_t const width = shape_.vocabulary;
  linear_forward(logits_, normed_, weights.tokens, no_bias, rows_, shape_.channels, width);
  return cross_entropy(logits_, targets, rows_, width, gradient_scale / static_cast<Real>(rows_)) /
         static_cast<double>(rows_);
}

template <class Real>
std::span<Real const> network<Real>::predict(embedding_pointers<Real const> const& weights) {
  Real const* const last = normed_ + (length_ - 1) * shape_.channels;
  Real const* const no_bias = nullptr;
  std::int64_t const width = shape_.vocabulary;
  linear_forward(logits_, last, weights.tokens, no_bias, 1, shape_.channels, width);
  softmax(logits_, 1, width);
  return {logits_, static_cast<std::size_t>(width)};
}

template <class Real>
void network<Real>::head_backward(embedding_pointers<Real const> const& weights,
                                  embedding_pointers<Real> const& gradients) {
  Real* const no_bias = nullptr;
  linear_backward(d_narrow_,
                  gradients.tokens,
                  no_bias,
                  logits_,
                  normed_,
                  weights.tokens,
                  rows_,
                  shape_.channels,
                  shape_.vocabulary);
}

template <class Real>
void network<Real>::norm_backward(norm_pointers<Real const> const& weights,
                                  norm_pointers<Real> const& gradients) {
  std::fill(d_stream_, d_stream_ + rows_ * shape_.channels, Real{0});
  train_gpt::norm_backward(d_stream_,
                           gradients.weight,
                           gradients.bias,
                           d_narrow_,
                           input_of(shape_.layers),
                           mean_,
                           scale_,
                           weights.weight,
                           rows_,
                           shape_.channels);
}

template <class Real>
void network<Real>::block_backward(std::int64_t layer,
                                   block_pointers<Real const> const& w,
                                   block_pointers<Real> const& g) {
  block_activations const& a = blocks_[static_cast<std::size_t>(layer)];
  std::int64_t const channels = shape_.channels;

  linear_backward(d_wide_,
                  g.down.weight,
                  g.down.bias,
                  d_stream_,
                  a.gelu,
                  w.down.weight,
                  rows_,
                  4 * channels,
                  channels);
  gelu_backward(d_wide_, a.up, rows_ * 4 * channels);
  linear_backward(d_narrow_,
                  g.up.weight,
                  g.up.bias,
                  d_wide_,
                  a.norm2,
                  w.up.weight,
                  rows_,
                  channels,
                  4 * channels);
  train_gpt::norm_backward(d_stream_,
                           g.norm2.weight,
                           g.norm2.bias,
                           d_narrow_,
                           a.middle,
                           a.mean2,
                           a.scale2,
                           w.norm2.weight,
                           rows_,
                           channels);

  linear_backward(d_narrow_,
                  g.out.weight,
                  g.out.bias,
                  d_stream_,
                  a.attended,
                  w.out.weight,
                  rows_,
                  channels,
                  channels);
  attention_backward(d_wide_,
                     d_probabilities_,
                     d_narrow_,
                     a.qkv,
                     a.probabilities,
                     {batch_, length_, channels, shape_.heads});
  linear_backward(d_narrow_,
                  g.qkv.weight,
                  g.qkv.bias,
                  d_wide_,
                  a.norm1,
                  w.qkv.weight,
                  rows_,
                  channels,
                  3 * channels);
  train_gpt::norm_backward(d_stream_,
                           g.norm1.weight,
                           g.norm1.bias,
                           d_narrow_,
                           input_of(layer),
                           a.mean1,
                           a.scale1,
                           w.norm1.weight,
                           rows_,
                           channels);
}

template <class Real>
void network<Real>::embed_backward(embedding_pointers<Real> const& gradients) {
  std::fill(gradients.tokens, gradients.tokens + shape_.vocabulary * shape_.channels, Real{0});
  std::fill(gradients.positions, gradients.positions + shape_.context * shape_.channels, Real{0});
  train_gpt::embed_backward(
      gradients.tokens, gradients.positions, d_stream_, tokens_, batch_, length_, shape_.channels);
}

template class network<float>;
template class network<double>;

}  // namespace train_gpt
