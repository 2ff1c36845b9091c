// SPDX-License-Identifier: Apache-2.0
#include <zero/policy/model_precision.hpp>

#include <zero/model/describe.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <vector>

namespace {

template <class T>
struct Block {
  BOOST_HANA_DEFINE_STRUCT(Block, (zero::Tensor<T>, weight), (zero::Tensor<float>, norm));
};

template <class T>
struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model,
                           (zero::Tensor<float>, scale),
                           (std::optional<std::vector<Block<T>>>, blocks));
};

struct Empty {
  BOOST_HANA_DEFINE_STRUCT(Empty);
};

using fp32 = zero::Precision<zero::FP32>;
using bf16 = zero::Precision<zero::BF16>;
using fp16 = zero::Precision<zero::FP16>;

static_assert(zero::detail::check_model_precision<bf16, Model<zero::bf16>>::value);

}  // namespace

TEST_CASE("a container fits the precision of its tensors, float beside any") {
  CHECK(zero::precision_fits<fp32, Model<float>>);
  CHECK(zero::precision_fits<bf16, Model<float>>);
  CHECK(zero::precision_fits<fp16, Model<float>>);
  CHECK_FALSE(zero::precision_fits<fp32, Model<zero::bf16>>);
  CHECK(zero::precision_fits<bf16, Model<zero::bf16>>);
  CHECK_FALSE(zero::precision_fits<fp16, Model<zero::bf16>>);
  CHECK_FALSE(zero::precision_fits<fp32, Model<zero::fp16>>);
  CHECK_FALSE(zero::precision_fits<bf16, Model<zero::fp16>>);
  CHECK(zero::precision_fits<fp16, Model<zero::fp16>>);
}

TEST_CASE("a container without tensors fits any precision") {
  CHECK(zero::precision_fits<fp32, Empty>);
}

TEST_CASE("what is no precision fits nothing") {
  CHECK_FALSE(zero::precision_fits<zero::FP32, Model<float>>);
}
