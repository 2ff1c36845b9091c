// SPDX-License-Identifier: Apache-2.0
#include <zero/core/tensor.hpp>

#include <doctest/doctest.h>

#include <type_traits>
#include <vector>

static_assert(std::is_trivially_copyable_v<zero::Tensor<zero::bf16>>);
static_assert(std::is_same_v<zero::Tensor<zero::bf16, 3>::value_type, zero::bf16>);
static_assert(std::is_base_of_v<zero::detail::tensor_base, zero::Tensor<float>>);

// A model of static tensors is a constant.
static_assert(zero::Tensor<float>().size() == 0);
static_assert(zero::Tensor<float>().shape() == zero::shape{0});
static_assert(zero::Tensor<float, 4, 5>().size() == 20);
static_assert(zero::Tensor<float, 4, 5>().shape() == zero::shape{4, 5});
static_assert(zero::Tensor<float, 0>().size() == 0);
static_assert(zero::Tensor<float>(zero::shape{7}).size() == 7);
static_assert(zero::Tensor<float>(zero::shape{}).size() == 1);
static_assert(zero::Tensor<float, 4>().address == nullptr);
static_assert(zero::Tensor<float, 4>({.frozen = true}).traits.frozen);
static_assert(zero::Tensor<float>(zero::shape{4}, {.lr_scale = 0.5}).traits.lr_scale == 0.5);

// The shape is either in the type or an argument.
static_assert(std::is_constructible_v<zero::Tensor<float>, zero::shape>);
static_assert(!std::is_convertible_v<zero::shape, zero::Tensor<float>>);
static_assert(!std::is_constructible_v<zero::Tensor<float, 4>, zero::shape>);
static_assert(zero::Tensor<float, 4>::is_static && !zero::Tensor<float>::is_static);

TEST_CASE("traits are ordinary unless said otherwise") {
  zero::parameter_traits const traits;
  CHECK_FALSE(traits.frozen);
  CHECK(traits.weight_decay);
  CHECK(traits.lr_scale == 1);
  CHECK_FALSE(traits.resident);
  CHECK(traits == zero::parameter_traits{});
  CHECK_FALSE(traits == zero::parameter_traits{.weight_decay = false});
}

TEST_CASE("a tensor reads and writes where its address points and owns nothing") {
  std::vector<float> memory{1, 2, 3};
  zero::Tensor<float> tensor(zero::shape{3});
  CHECK(tensor.data() == nullptr);
  tensor.address = memory.data();
  zero::Tensor<float> copy = tensor;
  copy[1] = 20;
  zero::Tensor<float> const& constant = tensor;
  CHECK(constant[1] == 20);
  CHECK(constant.data() == memory.data());
  CHECK(memory[1] == 20);
}

TEST_CASE("a tensor with traits can be declared in place") {
  struct block {
    zero::Tensor<zero::bf16, 2, 2> weight;
    zero::Tensor<zero::bf16, 2> bias{{.weight_decay = false}};
  };

  block const b;
  CHECK(b.weight.traits.weight_decay);
  CHECK_FALSE(b.bias.traits.weight_decay);
  CHECK(b.bias.size() == 2);
}
