// SPDX-License-Identifier: Apache-2.0
#include <zero/core/error.hpp>
#include <zero/core/literals.hpp>
#include <zero/core/shape.hpp>
#include <zero/core/tensor.hpp>
#include <zero/engine.hpp>

#include <boost/hana/define_struct.hpp>
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

// A GPT of 256 layers of twelve tensors, planned by the compiler within its default limits: this
// file compiles with g++ and with clang without -fconstexpr options.

namespace {

using namespace zero::literals;

template <class T>
struct Block {
  BOOST_HANA_DEFINE_STRUCT(Block,
                           (zero::Tensor<T, 768>, norm1_weight),
                           (zero::Tensor<T, 768>, norm1_bias),
                           (zero::Tensor<T, 768, 2304>, qkv_weight),
                           (zero::Tensor<T, 2304>, qkv_bias),
                           (zero::Tensor<T, 768, 768>, out_weight),
                           (zero::Tensor<T, 768>, out_bias),
                           (zero::Tensor<T, 768>, norm2_weight),
                           (zero::Tensor<T, 768>, norm2_bias),
                           (zero::Tensor<T, 768, 3072>, up_weight),
                           (zero::Tensor<T, 3072>, up_bias),
                           (zero::Tensor<T, 3072, 768>, down_weight),
                           (zero::Tensor<T, 768>, down_bias));
};

template <class T>
struct Gpt {
  using Blocks = std::array<Block<T>, 256>;
  BOOST_HANA_DEFINE_STRUCT(Gpt,
                           (zero::Tensor<T, 50304, 768>, embedding),
                           (Blocks, blocks),
                           (zero::Tensor<T, 768>, norm));
};

template <int Stage>
using Engine = zero::ZeroEngine<Gpt<zero::bf16>, zero::Stage<Stage>>;

constexpr auto sharded_bytes = zero::plan<Engine<3>>(zero::world<8>).device_bytes();
static_assert(sharded_bytes < 6_GiB);

/// Has its shapes at run time.
struct Vectors {
  BOOST_HANA_DEFINE_STRUCT(Vectors, (std::vector<zero::Tensor<float>>, layers));
};

TEST_CASE("a container that is empty when default-constructed is not planned from its type") {
  using engine = zero::ZeroEngine<Vectors, zero::Stage<3>>;
  std::string said;
  try {
    static_cast<void>(zero::plan<engine>(zero::world<8>));
  } catch (zero::logic_error const& error) {
    said = error.what();
  }
  CHECK(said.find("zero::plan<Engine>(model, ranks)") != std::string::npos);
  Vectors model;
  model.layers.emplace_back(zero::shape{100'000});
  CHECK(zero::plan<engine>(model, 8).device_bytes() > 100'000);
}

TEST_CASE("a deep model is planned by the compiler, as it is at run time") {
  CHECK(zero::plan<Engine<3>>(Gpt<zero::bf16>{}, 8).device_bytes() == sharded_bytes);
  CHECK(zero::plan<Engine<0>>(Gpt<zero::bf16>{}, 8).device_bytes() > 4 * sharded_bytes);
}

}  // namespace
