// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model.hpp"
#include "network.hpp"

#include <zero/core/dtype.hpp>
#include <zero/core/tensor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace train_gpt {

/// The network computes in float; parameters and gradients of one unit come and go in the model's
/// element type. This converts between the two, in memory for the largest unit that is allocated
/// once. Float parameters are read where they are.
class float_copy {
 public:
  explicit float_copy(gpt_shape const& shape)
      : values_(static_cast<std::size_t>(elements_of_largest_unit(shape))) {}

  /// The parameters of a unit as floats, until the next call of any member function.
  template <class Unit>
  [[nodiscard]] auto of(Unit const& unit) {
    next_ = values_.data();
    return floats(unit);
  }

  /// Room for the gradients of a unit, until the next call of any member function.
  template <class Unit>
  [[nodiscard]] auto room_for(Unit const& unit) {
    next_ = values_.data();
    return room(unit);
  }

 private:
  static std::int64_t elements_of_largest_unit(gpt_shape const& shape) {
    std::int64_t const channels = shape.channels;
    return std::max(12 * channels * channels + 13 * channels,        // Block
                    (shape.vocabulary + shape.context) * channels);  // Embedding
  }

  template <class T>
  float const* floats(zero::Tensor<T> const& tensor) {
    if constexpr (std::is_same_v<T, float>) {
      return tensor.data();
    } else {
      float* const copy = room(tensor);
      T const* const from = tensor.data();
      for (std::int64_t i = 0; i < tensor.size(); ++i) {
        copy[i] = zero::to_float(from[i]);
      }
      return copy;
    }
  }

  template <class T>
  float* room(zero::Tensor<T> const& tensor) {
    return std::exchange(next_, next_ + tensor.size());
  }

  // The same walk for both: the members of each unit, in order.
  template <class T>
  norm_pointers<float const> floats(Norm<T> const& n) {
    return {floats(n.weight), floats(n.bias)};
  }

  template <class T>
  linear_pointers<float const> floats(Linear<T> const& l) {
    return {floats(l.weight), floats(l.bias)};
  }

  template <class T>
  embedding_pointers<float const> floats(Embedding<T> const& e) {
    return {floats(e.tokens), floats(e.positions)};
  }

  template <class T>
  block_pointers<float const> floats(Block<T> const& b) {
    return {floats(b.norm1),
            floats(b.qkv),
            floats(b.out),
            floats(b.norm2),
            floats(b.up),
            floats(b.down)};
  }

  template <class T>
  norm_pointers<float> room(Norm<T> const& n) {
    return {room(n.weight), room(n.bias)};
  }

  template <class T>
  linear_pointers<float> room(Linear<T> const& l) {
    return {room(l.weight), room(l.bias)};
  }

  template <class T>
  embedding_pointers<float> room(Embedding<T> const& e) {
    return {room(e.tokens), room(e.positions)};
  }

  template <class T>
  block_pointers<float> room(Block<T> const& b) {
    return {room(b.norm1), room(b.qkv), room(b.out), room(b.norm2), room(b.up), room(b.down)};
  }

  std::vector<float> values_;
  float* next_ = nullptr;
};

/// Stores gradients in the model's element type, rounded once; on top of what is there if `add`.
template <class T>
void store(zero::Tensor<T>& to, float const* from, bool add) {
  T* const values = to.data();
  for (std::int64_t i = 0; i < to.size(); ++i) {
    values[i] = zero::from_float<T>(add ? zero::to_float(values[i]) + from[i] : from[i]);
  }
}

template <class T>
void store(Norm<T>& to, norm_pointers<float> const& from, bool add) {
  store(to.weight, from.weight, add);
  store(to.bias, from.bias, add);
}

template <class T>
void store(Linear<T>& to, linear_pointers<float> const& from, bool add) {
  store(to.weight, from.weight, add);
  store(to.bias, from.bias, add);
}

template <class T>
void store(Embedding<T>& to, embedding_pointers<float> const& from, bool add) {
  store(to.tokens, from.tokens, add);
  store(to.positions, from.positions, add);
}

template <class T>
void store(Block<T>& to, block_pointers<float> const& from, bool add) {
  store(to.norm1, from.norm1, add);
  store(to.qkv, from.qkv, add);
  store(to.out, from.out, add);
  store(to.norm2, from.norm2, add);
  store(to.up, from.up, add);
  store(to.down, from.down, add);
}

}  // namespace train_gpt
