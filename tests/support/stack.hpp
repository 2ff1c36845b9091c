// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/shape.hpp>
#include <zero/core/tensor.hpp>

#include <boost/hana/define_struct.hpp>

#include <cstdint>
#include <vector>

/// @file
/// The plainest container: layers one after the other, each a unit, with the canonical program.

namespace zero::test::stack {

template <class T>
struct layer {
  BOOST_HANA_DEFINE_STRUCT(layer, (Tensor<T>, weight), (Tensor<T>, bias));
};

template <class T>
struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (std::vector<layer<T>>, layers));

  template <class Pass, class See>
  static void forward(Pass& pass, See&& see) {
    for (std::int64_t i = 0; i < depth; ++i) {
      auto lease = pass.forward(&model::layers, i);
      see(lease, static_cast<int>(i));
    }
  }

  template <class Engine, class Learn>
  static void backward(Engine& engine, Learn&& learn) {
    for (std::int64_t i = depth; i-- > 0;) {
      auto lease = engine.backward(&model::layers, i);
      learn(lease, static_cast<int>(i));
    }
  }

  static constexpr std::int64_t depth = 5;
};

/// The container with its shapes: `width` elements in each weight, a tenth of that in each bias.
template <class T>
[[nodiscard]] model<T> make(std::int64_t width) {
  model<T> m;
  for (std::int64_t i = 0; i < model<T>::depth; ++i) {
    layer<T> l;
    l.weight = Tensor<T>(shape{width});
    l.bias = Tensor<T>(shape{width / 10});
    m.layers.push_back(l);
  }
  return m;
}

}  // namespace zero::test::stack
