// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../model.hpp"
#include "../network.hpp"

#include <concepts>
#include <type_traits>

namespace train_gpt::gpu {

namespace pointer_parts {

template <class Unit>
struct element_of;

template <template <class> class Kind, class T>
struct element_of<Kind<T>> {
  using type = T;
};

template <template <class> class Kind, class T>
struct element_of<Kind<T> const> {
  using type = T const;
};

}  // namespace pointer_parts

/// The element type of a unit of the model: constant in a constant unit.
template <class Unit>
using element = typename pointer_parts::element_of<Unit>::type;

/// A unit of one kind, constant or not: `unit_of<Norm>`.
template <class Unit, template <class> class Kind>
concept unit_of = std::same_as<Unit, Kind<element<Unit>>> ||
                  std::same_as<Unit, Kind<std::remove_const_t<element<Unit>>> const>;

/// The addresses that a lease has put into a unit: read-only for parameters, which a lease gives as
/// a constant unit, writable for gradients. Kernels compute with them where they lie.
template <unit_of<Norm> Unit>
norm_pointers<element<Unit>> addresses(Unit& n) {
  return {n.weight.data(), n.bias.data()};
}

template <unit_of<Linear> Unit>
linear_pointers<element<Unit>> addresses(Unit& l) {
  return {l.weight.data(), l.bias.data()};
}

template <unit_of<Embedding> Unit>
embedding_pointers<element<Unit>> addresses(Unit& e) {
  return {e.tokens.data(), e.positions.data()};
}

template <unit_of<Block> Unit>
block_pointers<element<Unit>> addresses(Unit& b) {
  return {addresses(b.norm1),
          addresses(b.qkv),
          addresses(b.out),
          addresses(b.norm2),
          addresses(b.up),
          addresses(b.down)};
}

}  // namespace train_gpt::gpu
