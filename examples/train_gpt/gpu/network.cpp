// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"
#include "network.hpp"

#include <zero/core/dtype.hpp>
#include <zero/core/error.hpp>
#include <zero/device/gpu/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace train_gpt::gpu {

namespace {

constexpr std::int64_t byte_values = 256;  // tokens are bytes, whatever the vocabulary

}  // namespace

template <class T>
network<T>::linear::linear(network& owner,
                           std::int64_t inputs,
                           std::int64_t outputs,
                           epilogue after)
    : owner_(&owner),
      inputs_(inputs),
      outputs_(outputs) {
  matmul_library& library = owner.library_;
  constexpr zero::dtype type = zero::dtype_of<T>;
  bool const fuse = owner.chosen_.fuse;
  std::int64_t const rows = owner.rows_;

  matmul_shape product{.rows = rows, .columns = outputs, .depth = inputs, .right_transposed = true};
  product.after = epilogue::bias;
  if (after == epilogue::gelu && fuse) {
    product.after = epilogue::gelu;
    fuses_gelu_ = matmul::supported(library, type, product);
    product.after = fuses_gelu_ ? epilogue::gelu : epilogue::bias;
  }
  forward_.emplace(library, type, product);

  matmul_shape to_input{.rows = rows, .columns = inputs, .depth = outputs};
  if (after == epilogue::gelu_gradient && fuse) {
    to_input.after = epilogue::gelu_gradient;
    fuses_slope_ = matmul::supported(library, type, to_input);
    to_input.after = fuses_slope_ ? epilogue::gelu_gradient : epilogue::none;
  }
  input_gradient_.emplace(library, type, to_input);

  matmul_shape to_weight{
      .rows = outputs, .columns = inputs, .depth = rows, .left_transposed = true};
  if (fuse) {
    to_weight.after = epilogue::bias_gradient;
    fuses_bias_gradient_ = matmul::supported(library, type, to_weight);
    to_weight.after = fuses_bias_gradient_ ? epilogue::bias_gradient : epilogue::none;
  }
  weight_gradient_.emplace(library, type, to_weight);
}

template <class T>
void network<T>::linear::forward(
    T* out, T const* in, linear_pointers<T const> const& weights, T const* added, T* kept) {
  bool const apart = kept != nullptr && !fuses_gelu_;  // GELU in a kernel of its own
  (*forward_)(owner_->stream_,
              {.out = apart ? kept : out,
               .left = in,
               .right = weights.weight,
               .added = added,
               .bias = const_cast<T*>(weights.bias),
               .kept = fuses_gelu_ ? kept : nullptr});
  if (apart) {
    gelu_forward(owner_->stream_, out, static_cast<T const*>(kept), owner_->rows_ * outputs_);
  }
}

template <class T>
void network<T>::linear::backward(T* d_in,
                                  linear_pointers<T> const& gradients,
                                  T const* d_out,
                                  T const* in,
                                  T const* weight,
                                  T const* kept) {
  (*weight_gradient_)(owner_->stream_,
                      {.out = gradients.weight,
                       .left = d_out,
                       .right = in,
                       .bias = fuses_bias_gradient_ ? gradients.bias : nullptr});
  if (!fuses_bias_gradient_) {
    bias_backward(
        owner_->stream_, gradients.bias, d_out, owner_->partials_, owner_->rows_, outputs_);
  }
  (*input_gradient_)(owner_->stream_,
                     {.out = d_in,
                      .left = d_out,
                      .right = weight,
                      .kept = fuses_slope_ ? const_cast<T*>(kept) : nullptr});
  if (kept != nullptr && !fuses_slope_) {
    gelu_backward(owner_->stream_, d_in, kept, owner_->rows_ * inputs_);
  }
}

template <class T>
network<T>::network(gpt_shape const& shape,
                    std::int64_t batch,
                    cudaStream_t stream,
                    network_options const& chosen)
    : shape_(shape),
      batch_(batch),
      rows_(batch * shape.context),
      stream_(stream),
      chosen_(chosen),
      blocks_(static_cast<std::size_t>(shape.layers)) {
  std::int64_t const channels = shape.channels;
  zero::precondition(channels % 8 == 0 && shape.vocabulary % 8 == 0 && rows_ % 8 == 0,
                     "train_gpt: a GPU needs channels, vocabulary and the tokens of a batch to be "
                     "multiples of 8");
  constexpr zero::dtype type = zero::dtype_of<T>;
  allocate();
  qkv_.emplace(*this, channels, 3 * channels, epilogue::none);
  out_.emplace(*this, channels, channels, epilogue::none);
  up_.emplace(*this, channels, 4 * channels, epilogue::gelu);
  down_.emplace(*this, 4 * channels, channels, epilogue::gelu_gradient);

  std::int64_t const width = shape.vocabulary;
  logits_product_.emplace(
      library_,
      type,
      matmul_shape{.rows = rows_, .columns = width, .depth = channels, .right_transposed = true});
  logits_input_gradient_.emplace(
      library_, type, matmul_shape{.rows = rows_, .columns = channels, .depth = width});
  logits_weight_gradient_.emplace(
      library_,
      type,
      matmul_shape{.rows = width, .columns = channels, .depth = rows_, .left_transposed = true});
  tokens_gradient_.emplace(
      library_,
      type,
      matmul_shape{
          .rows = byte_values, .columns = channels, .depth = rows_, .left_transposed = true});

  attention_sizes const sizes{batch, shape.context, channels, shape.heads};
  std::string why_plain = "as asked";
  if (chosen.cudnn) {
    attention_ = make_cudnn_attention(type, sizes, chosen.deterministic, why_plain);
  }
  uses_cudnn_ = attention_ != nullptr;
  if (uses_cudnn_) {
    attention_name_ = attention_->name();
  } else {
    attention_ = make_plain_attention(type, sizes);
    attention_name_ = attention_->name() + " (" + why_plain + ")";
  }
}

template <class T>
std::string network<T>::matrix_products() const {
  std::string fused;
  auto const add = [&](bool is_fused, char const* what) {
    if (is_fused) {
      fused += (fused.empty() ? "" : ", ") + std::string(what);
    }
  };
  add(up_->fuses_gelu(), "GELU");
  add(down_->fuses_slope(), "its slope");
  add(qkv_->fuses_bias_gradient() && out_->fuses_bias_gradient() && up_->fuses_bias_gradient() &&
          down_->fuses_bias_gradient(),
      "biases' gradients");
  return matmul_library::name() + (fused.empty() ? ", nothing fused" : " with " + fused);
}

template <class T>
void network<T>::allocate() {
  std::int64_t const channels = shape_.channels;
  // Run twice: first to count, then to hand out the memory.
  std::int64_t used = 0;
  auto const take = [&]<class E>(E*& buffer, std::int64_t count) {
    constexpr std::int64_t unit = zero::gpu::memory::alignment;
    buffer = reinterpret_cast<E*>(static_cast<char*>(memory_.get()) + used);
    used += (count * static_cast<std::int64_t>(sizeof(E)) + unit - 1) / unit * unit;
  };
  auto const take_all = [&] {
    used = 0;
    take(embedded_, rows_ * channels);
    for (block_activations& a : blocks_) {
      take(a.norm1, rows_ * channels);
      take(a.mean1, rows_);
      take(a.scale1, rows_);
      take(a.qkv, rows_ * 3 * channels);
      take(a.logsums, rows_ * shape_.heads);
      take(a.attended, rows_ * channels);
      take(a.middle, rows_ * channels);
      take(a.norm2, rows_ * channels);
      take(a.mean2, rows_);
      take(a.scale2, rows_);
      take(a.up, rows_ * 4 * channels);
      take(a.gelu, rows_ * 4 * channels);
      take(a.output, rows_ * channels);
    }
    take(normed_, rows_ * channels);
    take(mean_, rows_);
    take(scale_, rows_);
    take(logits_, rows_ * shape_.vocabulary);
    take(losses_, rows_);
    take(row_logits_, shape_.vocabulary);
    take(d_stream_, rows_ * channels);
    take(d_narrow_, rows_ * channels);
    take(d_wide_, rows_ * 4 * channels);
    take(one_hot_, rows_ * byte_values);
    take(partials_, std::max(norm_scratch(channels), bias_scratch(4 * channels)));
  };
  take_all();
  memory_ = zero::gpu::memory(used, "activations");
  take_all();
}

template <class T>
T const* network<T>::input_of(std::int64_t layer) const {
  return layer == 0 ? embedded_ : blocks_[static_cast<std::size_t>(layer - 1)].output;
}

template <class T>
void network<T>::embed(embedding_pointers<T const> const& weights) {
  embed_forward(stream_,
                embedded_,
                tokens_,
                weights.tokens,
                weights.positions,
                rows_,
                shape_.context,
                shape_.channels);
}

template <class T>
void network<T>::block(std::int64_t layer, block_pointers<T const> const& w) {
  block_activations& a = blocks_[static_cast<std::size_t>(layer)];
  std::int64_t const channels = shape_.channels;
  T const* const input = input_of(layer);

  norm_forward(
      stream_, a.norm1, a.mean1, a.scale1, input, w.norm1.weight, w.norm1.bias, rows_, channels);
  qkv_->forward(a.qkv, a.norm1, w.qkv, nullptr, nullptr);
  attention_->forward(stream_, a.attended, a.logsums, a.qkv);
  out_->forward(a.middle, a.attended, w.out, input, nullptr);

  norm_forward(stream_,
               a.norm2,
               a.mean2,
               a.scale2,
               static_cast<T const*>(a.middle),
               w.norm2.weight,
               w.norm2.bias,
               rows_,
               channels);
  up_->forward(a.gelu, a.norm2, w.up, nullptr, a.up);
  down_->forward(a.output, a.gelu, w.down, a.middle, nullptr);
}

template <class T>
void network<T>::norm(norm_pointers<T const> const& w) {
  norm_forward(stream_,
               normed_,
               mean_,
               scale_,
               input_of(shape_.layers),
               w.weight,
               w.bias,
               rows_,
               shape_.channels);
}

template <class T>
void network<T>::head(embedding_pointers<T const> const& weights,
                      std::uint8_t const* targets,
                      float const* loss_scale,
                      double* loss,
                      double factor,
                      bool add) {
  (*logits_product_)(stream_, {.out = logits_, .left = normed_, .right = weights.tokens});
  cross_entropy(stream_,
                logits_,
                losses_,
                targets,
                loss_scale,
                1.0f / static_cast<float>(rows_),
                loss_scale != nullptr,
                rows_,
                shape_.vocabulary);
  sum_losses(stream_, loss, losses_, rows_, factor / static_cast<double>(rows_), add);
}

template <class T>
float const* network<T>::predict(embedding_pointers<T const> const& weights,
                                 std::int64_t position) {
  logits_of_row(stream_,
                row_logits_,
                static_cast<T const*>(normed_ + position * shape_.channels),
                weights.tokens,
                shape_.vocabulary,
                shape_.channels);
  return row_logits_;
}

template <class T>
void network<T>::head_backward(embedding_pointers<T const> const& weights,
                               embedding_pointers<T> const& gradients) {
  (*logits_weight_gradient_)(stream_, {.out = gradients.tokens, .left = logits_, .right = normed_});
  zero::check_cuda(
      cudaMemsetAsync(gradients.positions,
                      0,
                      static_cast<std::size_t>(shape_.context * shape_.channels) * sizeof(T),
                      stream_),
      "cudaMemsetAsync");
  (*logits_input_gradient_)(stream_, {.out = d_narrow_, .left = logits_, .right = weights.tokens});
}

template <class T>
void network<T>::norm_backward(norm_pointers<T const> const& weights,
                               norm_pointers<T> const& gradients) {
  gpu::norm_backward(stream_,
                     d_stream_,
                     gradients.weight,
                     gradients.bias,
                     static_cast<T const*>(d_narrow_),
                     input_of(shape_.layers),
                     mean_,
                     scale_,
                     weights.weight,
                     false,
                     partials_,
                     rows_,
                     shape_.channels);
}

template <class T>
void network<T>::block_backward(std::int64_t layer,
                                block_pointers<T const> const& w,
                                block_pointers<T> const& g) {
  block_activations& a = blocks_[static_cast<std::size_t>(layer)];
  std::int64_t const channels = shape_.channels;

  down_->backward(d_wide_, g.down, d_stream_, a.gelu, w.down.weight, a.up);
  up_->backward(d_narrow_, g.up, d_wide_, a.norm2, w.up.weight, nullptr);
  gpu::norm_backward(stream_,
                     d_stream_,
                     g.norm2.weight,
                     g.norm2.bias,
                     static_cast<T const*>(d_narrow_),
                     static_cast<T const*>(a.middle),
                     a.mean2,
                     a.scale2,
                     w.norm2.weight,
                     true,
                     partials_,
                     rows_,
                     channels);

  out_->backward(d_narrow_, g.out, d_stream_, a.attended, w.out.weight, nullptr);
  attention_->backward(stream_, d_wide_, d_narrow_, a.qkv, a.attended, a.logsums);
  qkv_->backward(d_narrow_, g.qkv, d_wide_, a.norm1, w.qkv.weight, nullptr);
  gpu::norm_backward(stream_,
                     d_stream_,
                     g.norm1.weight,
                     g.norm1.bias,
                     static_cast<T const*>(d_narrow_),
                     input_of(layer),
                     a.mean1,
                     a.scale1,
                     w.norm1.weight,
                     true,
                     partials_,
                     rows_,
                     channels);
}

template <class T>
void network<T>::embed_backward(embedding_pointers<T> const& gradients) {
  one_hot(stream_, one_hot_, tokens_, rows_);
  (*tokens_gradient_)(
      stream_,
      {.out = gradients.tokens, .left = one_hot_, .right = d_stream_, .added = gradients.tokens});
  positions_backward(stream_,
                     gradients.positions,
                     static_cast<T const*>(d_stream_),
                     batch_,
                     shape_.context,
                     shape_.channels);
}

template class network<float>;
template class network<zero::bf16>;
template class network<zero::fp16>;

}  // namespace train_gpt::gpu
