// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shape.hpp"

#include <zero/core/tensor.hpp>
#include <zero/model/program.hpp>

#include <boost/hana/define_struct.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// GPT-2's parameters as Hana structs. `T` is their element type, zero::bf16 for example. Nothing
/// here knows of ranks or stages: the engine finds the tensors by their names and writes their
/// addresses whenever the training loop opens a unit.
namespace train_gpt {

/// Biases and layer norms are not pulled towards zero.
inline constexpr zero::parameter_traits no_decay{.weight_decay = false};

/// Layer normalisation: [channels] each.
template <class T>
struct Norm {
  Norm() = default;

  explicit Norm(std::int64_t channels)
      : weight(zero::shape{channels}, no_decay),
        bias(zero::shape{channels}, no_decay) {}

  BOOST_HANA_DEFINE_STRUCT(Norm, (zero::Tensor<T>, weight), (zero::Tensor<T>, bias));
};

/// A matrix product with a bias: weight [outputs, inputs], bias [outputs].
template <class T>
struct Linear {
  Linear() = default;

  Linear(std::int64_t outputs, std::int64_t inputs)
      : weight(zero::shape{outputs, inputs}),
        bias(zero::shape{outputs}, no_decay) {}

  BOOST_HANA_DEFINE_STRUCT(Linear, (zero::Tensor<T>, weight), (zero::Tensor<T>, bias));
};

/// Token and position embeddings: tokens [vocabulary, channels], positions [context, channels]. The
/// tokens also turn the last layer's output into logits, so this unit is opened at both ends.
template <class T>
struct Embedding {
  Embedding() = default;

  explicit Embedding(gpt_shape const& shape)
      : tokens(zero::shape{shape.vocabulary, shape.channels}),
        positions(zero::shape{shape.context, shape.channels}) {}

  BOOST_HANA_DEFINE_STRUCT(Embedding, (zero::Tensor<T>, tokens), (zero::Tensor<T>, positions));
};

/// A pre-norm transformer block: attention (qkv, out), then a perceptron four times as wide (up,
/// down).
template <class T>
struct Block {
  Block() = default;

  explicit Block(gpt_shape const& shape)
      : norm1(shape.channels),
        qkv(3 * shape.channels, shape.channels),
        out(shape.channels, shape.channels),
        norm2(shape.channels),
        up(4 * shape.channels, shape.channels),
        down(shape.channels, 4 * shape.channels) {}

  BOOST_HANA_DEFINE_STRUCT(Block,
                           (Norm<T>, norm1),
                           (Linear<T>, qkv),
                           (Linear<T>, out),
                           (Norm<T>, norm2),
                           (Linear<T>, up),
                           (Linear<T>, down));
};

/// The whole model. Its units, what is gathered and reduced together, are `embed`, each of
/// `blocks`, and `norm`.
template <class T>
struct Gpt {
  using value_type = T;

  Gpt() = default;

  explicit Gpt(gpt_shape const& shape)
      : embed(shape),
        blocks(static_cast<std::size_t>(shape.layers), Block<T>(shape)),
        norm(shape.channels) {}

  BOOST_HANA_DEFINE_STRUCT(Gpt,
                           (Embedding<T>, embed),
                           (std::vector<Block<T>>, blocks),
                           (Norm<T>, norm));
};

/// The order in which a forward pass opens the units; found by the engine through the argument's
/// namespace. The backward pass is its reverse.
template <class T>
constexpr void zero_program(Gpt<T> const&, zero::ProgramBuilder<Gpt<T>>& program) {
  program.visit(&Gpt<T>::embed);
  program.visit(&Gpt<T>::blocks);
  program.visit(&Gpt<T>::norm);
  program.visit(&Gpt<T>::embed);
}

}  // namespace train_gpt
