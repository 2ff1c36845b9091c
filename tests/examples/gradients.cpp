// SPDX-License-Identifier: Apache-2.0
// The hand-written gradients of the example's network against finite differences, in double; and
// its float instantiation, which is what trains, against the double one.
#include "examples/train_gpt/network.hpp"

#include <zero/core/random.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace {

constexpr train_gpt::gpt_shape shape{.layers = 2, .channels = 12, .heads = 3, .context = 5};
constexpr std::int64_t batch = 2;
constexpr std::int64_t rows = batch * shape.context;

/// The units of a model inside one array, so that a test can reach each number by its index.
template <class Real>
struct model_pointers {
  train_gpt::embedding_pointers<Real> embed;
  std::vector<train_gpt::block_pointers<Real>> blocks;
  train_gpt::norm_pointers<Real> norm;
  std::int64_t elements = 0;

  explicit model_pointers(Real* first) {
    std::int64_t const c = shape.channels;
    auto const take = [&](std::int64_t count) {
      return first + std::exchange(elements, elements + count);
    };
    auto const pair = [&](std::int64_t outputs, std::int64_t inputs) {
      Real* const weight = take(outputs * inputs);
      return std::pair(weight, take(outputs));
    };
    auto const norm_of = [&] {
      auto const [weight, bias] = pair(c, 1);
      return train_gpt::norm_pointers<Real>{weight, bias};
    };
    auto const linear = [&](std::int64_t outputs, std::int64_t inputs) {
      auto const [weight, bias] = pair(outputs, inputs);
      return train_gpt::linear_pointers<Real>{weight, bias};
    };
    embed.tokens = take(shape.vocabulary * c);
    embed.positions = take(shape.context * c);
    for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
      blocks.push_back({.norm1 = norm_of(),
                        .qkv = linear(3 * c, c),
                        .out = linear(c, c),
                        .norm2 = norm_of(),
                        .up = linear(4 * c, c),
                        .down = linear(c, 4 * c)});
    }
    norm = norm_of();
  }
};

std::int64_t elements_of_model() {
  return model_pointers<char>(nullptr).elements;
}

/// A batch in which tokens repeat, so that the embedding's gradient sums.
struct text {
  std::vector<std::uint8_t> tokens;
  std::vector<std::uint8_t> targets;

  text() {
    for (std::int64_t row = 0; row < rows; ++row) {
      tokens.push_back(static_cast<std::uint8_t>(97 + row * row % 7));
      targets.push_back(static_cast<std::uint8_t>(97 + (row + 1) * (row + 1) % 7));
    }
  }
};

/// Weights large enough that every part of the network bends.
template <class Real>
std::vector<Real> weights_of_model() {
  std::vector<Real> values(static_cast<std::size_t>(elements_of_model()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<Real>(0.3f * zero::approximately_normal(7, i));
  }
  return values;
}

template <class Real>
double loss_of(train_gpt::network<Real>& net, std::vector<Real> const& values, text const& data) {
  model_pointers<Real const> const weights(values.data());
  net.begin(data.tokens.data(), batch, shape.context);
  net.embed(weights.embed);
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    net.block(layer, weights.blocks[static_cast<std::size_t>(layer)]);
  }
  net.norm(weights.norm);
  return net.head(weights.embed, data.targets.data(), Real{1});
}

/// The gradient of the tied embedding comes from both of its visits.
template <class Real>
std::vector<Real> gradient_of(train_gpt::network<Real>& net,
                              std::vector<Real> const& values,
                              text const& data) {
  (void)loss_of(net, values, data);
  std::vector<Real> gradient(values.size(), Real{-99});  // what is not overwritten shows
  std::vector<Real> head(values.size());
  model_pointers<Real const> const weights(values.data());
  model_pointers<Real> const gradients(gradient.data());
  net.head_backward(weights.embed, model_pointers<Real>(head.data()).embed);
  net.norm_backward(weights.norm, gradients.norm);
  for (std::int64_t layer = shape.layers; layer-- > 0;) {
    net.block_backward(layer,
                       weights.blocks[static_cast<std::size_t>(layer)],
                       gradients.blocks[static_cast<std::size_t>(layer)]);
  }
  net.embed_backward(gradients.embed);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] += head[i];
  }
  return gradient;
}

}  // namespace

TEST_CASE("every gradient of the network agrees with finite differences") {
  text const data;
  train_gpt::network<double> net(shape, batch);
  std::vector<double> values = weights_of_model<double>();
  std::vector<double> const gradient = gradient_of(net, values, data);

  double worst = 0;
  double const step = 1e-5;  // truncation h^2 and rounding 2^-52 / h are both near 1e-10
  for (std::size_t i = 0; i < values.size(); ++i) {
    double const kept = values[i];
    values[i] = kept + step;
    double const above = loss_of(net, values, data);
    values[i] = kept - step;
    double const below = loss_of(net, values, data);
    values[i] = kept;
    worst = std::fmax(worst, std::fabs((above - below) / (2 * step) - gradient[i]));
  }
  CHECK(worst < 1e-8);
}

TEST_CASE("the network in float agrees with the network in double") {
  text const data;
  train_gpt::network<float> narrow(shape, batch);
  train_gpt::network<double> wide(shape, batch);
  std::vector<float> const values = weights_of_model<float>();
  std::vector<double> const same(values.begin(), values.end());

  CHECK(std::fabs(loss_of(narrow, values, data) - loss_of(wide, same, data)) < 1e-5);
  std::vector<float> const near = gradient_of(narrow, values, data);
  std::vector<double> const exact = gradient_of(wide, same, data);
  double worst = 0;
  double largest = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    worst = std::fmax(worst, std::fabs(near[i] - exact[i]));
    largest = std::fmax(largest, std::fabs(exact[i]));
  }
  CHECK(worst < 1e-5 * largest);
}

TEST_CASE("a token does not see what comes after it") {
  text data;
  train_gpt::network<double> net(shape, 1);
  std::vector<double> const values = weights_of_model<double>();
  model_pointers<double const> const weights(values.data());
  auto const next = [&](std::int64_t length) {
    net.begin(data.tokens.data(), 1, length);
    net.embed(weights.embed);
    for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
      net.block(layer, weights.blocks[static_cast<std::size_t>(layer)]);
    }
    net.norm(weights.norm);
    auto const p = net.predict(weights.embed);
    return std::vector<double>(p.begin(), p.end());
  };
  std::vector<double> const before = next(3);
  data.tokens[3] = 'Z';
  CHECK(next(3) == before);
  data.tokens[2] = 'Z';
  CHECK(next(3) != before);
}

TEST_CASE("a scale of the gradient scales the gradient and not the loss") {
  text const data;
  train_gpt::network<double> net(shape, batch);
  std::vector<double> const values = weights_of_model<double>();
  model_pointers<double const> const weights(values.data());
  std::vector<double> once(values.size());
  std::vector<double> scaled(values.size());
  double const loss = loss_of(net, values, data);
  net.head_backward(weights.embed, model_pointers<double>(once.data()).embed);

  (void)loss_of(net, values, data);
  CHECK(net.head(weights.embed, data.targets.data(), 1024.0) == loss);
  net.head_backward(weights.embed, model_pointers<double>(scaled.data()).embed);
  for (std::size_t i = 0; i < once.size(); ++i) {
    REQUIRE(scaled[i] == 1024 * once[i]);
  }
}
