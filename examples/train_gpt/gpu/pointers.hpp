// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../model.hpp"
#include "../network.hpp"

#include <zero/core/tensor.hpp>

namespace train_gpt::gpu {

/// The addresses that a lease has put into a unit: read-only for parameters, writable for
/// gradients. Kernels compute with them where they lie.
template <class T>
norm_pointers<T const> addresses(Norm<T> const& n) {
  return {n.weight.data(), n.bias.data()};
}

template <class T>
norm_pointers<T> addresses(Norm<T>& n) {
  return {n.weight.data(), n.bias.data()};
}

template <class T>
linear_pointers<T const> addresses(Linear<T> const& l) {
  return {l.weight.data(), l.bias.data()};
}

template <class T>
linear_pointers<T> addresses(Linear<T>& l) {
  return {l.weight.data(), l.bias.data()};
}

template <class T>
embedding_pointers<T const> addresses(Embedding<T> const& e) {
  return {e.tokens.data(), e.positions.data()};
}

template <class T>
embedding_pointers<T> addresses(Embedding<T>& e) {
  return {e.tokens.data(), e.positions.data()};
}

template <class T>
block_pointers<T const> addresses(Block<T> const& b) {
  return {addresses(b.norm1),
          addresses(b.qkv),
          addresses(b.out),
          addresses(b.norm2),
          addresses(b.up),
          addresses(b.down)};
}

template <class T>
block_pointers<T> addresses(Block<T>& b) {
  return {addresses(b.norm1),
          addresses(b.qkv),
          addresses(b.out),
          addresses(b.norm2),
          addresses(b.up),
          addresses(b.down)};
}

}  // namespace train_gpt::gpu
