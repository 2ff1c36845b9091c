// SPDX-License-Identifier: Apache-2.0
#include <zero/model/describe.hpp>

#include "random_container.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace {

using zero::bf16;
using zero::Tensor;

// The container of a transformer, all of its shapes static, so that its layout is a constant.
template <class T>
struct Block {
  BOOST_HANA_DEFINE_STRUCT(Block,
                           (Tensor<T, 8>, norm1_weight),
                           (Tensor<T, 8>, norm1_bias),
                           (Tensor<T, 24, 8>, qkv_weight),
                           (Tensor<T, 24>, qkv_bias),
                           (Tensor<T, 8, 8>, out_weight),
                           (Tensor<T, 8>, out_bias),
                           (Tensor<T, 8>, norm2_weight),
                           (Tensor<T, 8>, norm2_bias),
                           (Tensor<T, 32, 8>, up_weight),
                           (Tensor<T, 32>, up_bias),
                           (Tensor<T, 8, 32>, down_weight),
                           (Tensor<T, 8>, down_bias));
};

template <class T>
struct Embedding {
  BOOST_HANA_DEFINE_STRUCT(Embedding, (Tensor<T, 100, 8>, wte), (Tensor<float, 16, 8>, wpe));
};

template <class T>
struct Gpt {
  BOOST_HANA_DEFINE_STRUCT(Gpt,
                           (Embedding<T>, embed),
                           (std::vector<Block<T>>, blocks),
                           (std::optional<Embedding<T>>, head));
};

template <class T, std::size_t Layers>
struct FixedGpt {
  BOOST_HANA_DEFINE_STRUCT(FixedGpt, (Embedding<T>, embed), (std::array<Block<T>, Layers>, blocks));
};

constexpr std::int64_t block_elements = 8 + 8 + 192 + 24 + 64 + 8 + 8 + 8 + 256 + 32 + 256 + 8;
constexpr std::int64_t embedding_elements = 800 + 128;

struct totals {
  std::size_t parameters = 0;
  std::int64_t elements = 0;
  std::int32_t units = 0;

  friend constexpr bool operator==(totals const&, totals const&) = default;
};

template <class Model>
constexpr totals totals_of(Model const& model) {
  auto const layout = zero::describe(model);
  totals sum{layout.parameters.size(), 0, layout.units};
  for (auto const& parameter : layout.parameters) {
    sum.elements += parameter.elements;
  }
  return sum;
}

constexpr Gpt<bf16> make_gpt(int layers, bool head) {
  Gpt<bf16> model;
  for (int i = 0; i < layers; ++i) {
    model.blocks.push_back(Block<bf16>{});
  }
  if (head) {
    model.head.emplace();
  }
  return model;
}

// Constant expressions, inside the limits that g++ and clang have by default, for 256 layers.
static_assert(totals_of(make_gpt(0, false)) == totals{2, embedding_elements, 1});
static_assert(totals_of(make_gpt(2, true)) ==
              totals{28, 2 * block_elements + 2 * embedding_elements, 4});
static_assert(totals_of(make_gpt(256, true)) ==
              totals{4 + 256 * 12, 256 * block_elements + 2 * embedding_elements, 258});
static_assert(totals_of(FixedGpt<bf16, 256>{}) ==
              totals{2 + 256 * 12, 256 * block_elements + embedding_elements, 257});

struct Empty {
  BOOST_HANA_DEFINE_STRUCT(Empty);
};

static_assert(totals_of(Empty{}) == totals{0, 0, 0});

struct EmptyUnits {
  BOOST_HANA_DEFINE_STRUCT(EmptyUnits, (Empty, a), (std::vector<Tensor<float>>, b), (Empty, c));
};

static_assert(totals_of(EmptyUnits{}) == totals{0, 0, 2}, "a unit may have no parameter");

// A container that was there before, in a namespace of its own, and arrays of C.
}  // namespace

namespace theirs {

struct Layer {
  Tensor<zero::fp16, 4> weight;
  Tensor<zero::fp16, 2> bias;
  int heads = 2;
};

struct Net {
  Layer layers[3];
  Tensor<zero::fp16> scales[2];
};

}  // namespace theirs

BOOST_HANA_ADAPT_STRUCT(theirs::Layer, weight, bias);
BOOST_HANA_ADAPT_STRUCT(theirs::Net, layers, scales);

static_assert(totals_of(theirs::Net{}) == totals{8, 18, 5});

TEST_CASE("an adapted container is described without its other members") {
  theirs::Net const net;
  CHECK(zero::parameter_names(net) == std::vector<std::string>{"layers.0.weight",
                                                               "layers.0.bias",
                                                               "layers.1.weight",
                                                               "layers.1.bias",
                                                               "layers.2.weight",
                                                               "layers.2.bias",
                                                               "scales.0",
                                                               "scales.1"});
  CHECK(zero::unit_names(net) ==
        std::vector<std::string>{"layers.0", "layers.1", "layers.2", "scales.0", "scales.1"});
}

TEST_CASE("names are paths, and units the members of the container or their elements") {
  auto const model = make_gpt(2, true);
  auto const names = zero::parameter_names(model);
  REQUIRE(names.size() == 28);
  CHECK(names.front() == "embed.wte");
  CHECK(names[2] == "blocks.0.norm1_weight");
  CHECK(names[25] == "blocks.1.down_bias");
  CHECK(names.back() == "head.wpe");
  CHECK(zero::unit_names(model) ==
        std::vector<std::string>{"embed", "blocks.0", "blocks.1", "head"});
}

TEST_CASE("an empty optional adds no unit and no parameter") {
  auto const model = make_gpt(1, false);
  CHECK(zero::unit_names(model) == std::vector<std::string>{"embed", "blocks.0"});
  CHECK(zero::describe(model).units == 2);
  CHECK(zero::parameter_names(model).size() == 14);
}

TEST_CASE("sizes are of 64 bits") {
  struct Large {
    BOOST_HANA_DEFINE_STRUCT(Large, (Tensor<bf16>, weight));
  };

  Large large;
  large.weight = Tensor<bf16>({65536, 65537});
  CHECK(zero::describe(large).parameters[0].elements == std::int64_t{65536} * 65537);
}

TEST_CASE("random containers are described as they were written down") {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    zero::test::random_container container(seed);
    auto const expected = container.take_notes();
    auto const layout = zero::describe(container.model);
    auto const names = zero::parameter_names(container.model);
    auto const tensors = zero::tensors_of(container.model);
    CHECK(zero::unit_names(container.model) == expected.units);
    CHECK(layout.units == static_cast<std::int32_t>(expected.units.size()));
    REQUIRE(layout.parameters.size() == expected.tensors.size());
    REQUIRE(names.size() == expected.tensors.size());
    REQUIRE(tensors.size() == expected.tensors.size());
    bool same = true;
    for (std::size_t i = 0; i < names.size(); ++i) {
      auto const& noted = expected.tensors[i];
      same = same && names[i] == noted.name && tensors[i] == noted.address &&
             layout.parameters[i] ==
                 zero::parameter{noted.elements, noted.type, noted.traits, noted.unit};
    }
    CHECK(same);
  }
}

TEST_CASE("a name begins with the name of its unit, and no two are the same") {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    zero::test::random_container const container(seed);
    auto const layout = zero::describe(container.model);
    auto names = zero::parameter_names(container.model);
    auto const units = zero::unit_names(container.model);
    for (std::size_t i = 0; i < names.size(); ++i) {
      auto const& unit = units[static_cast<std::size_t>(layout.parameters[i].unit)];
      CHECK((names[i] == unit || names[i].starts_with(unit + ".")));
    }
    std::ranges::sort(names);
    CHECK(std::ranges::adjacent_find(names) == names.end());
  }
}
