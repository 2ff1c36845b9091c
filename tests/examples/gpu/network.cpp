// SPDX-License-Identifier: Apache-2.0
// The network on the GPU against the one on the host, in double: loss and all gradients.
#include "../../../examples/train_gpt/gpu/network.hpp"
#include "../../../examples/train_gpt/network.hpp"

#include <zero/core/dtype.hpp>
#include <zero/core/random.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/device/gpu/memory.hpp>

#include <doctest/doctest.h>

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

using train_gpt::gpt_shape;

/// Where each unit's parameters, or gradients, lie in one array, tensors at multiples of 128
/// elements.
template <class Real>
struct model_pointers {
  std::int64_t elements = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> tensors;  ///< first element and count
  train_gpt::embedding_pointers<Real> embed{};
  std::vector<train_gpt::block_pointers<Real>> blocks;
  train_gpt::norm_pointers<Real> norm{};

  model_pointers(Real* first, gpt_shape const& shape) {
    std::int64_t const c = shape.channels;
    auto const take = [&](std::int64_t count) {
      tensors.emplace_back(elements, count);
      return first + std::exchange(elements, elements + (count + 127) / 128 * 128);
    };
    auto const norm_of = [&] {
      Real* const weight = take(c);
      return train_gpt::norm_pointers<Real>{weight, take(c)};
    };
    auto const linear = [&](std::int64_t outputs, std::int64_t inputs) {
      Real* const weight = take(outputs * inputs);
      return train_gpt::linear_pointers<Real>{weight, take(outputs)};
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

template <class Real>
train_gpt::norm_pointers<Real const> read_only(train_gpt::norm_pointers<Real> const& p) {
  return {p.weight, p.bias};
}

template <class Real>
train_gpt::linear_pointers<Real const> read_only(train_gpt::linear_pointers<Real> const& p) {
  return {p.weight, p.bias};
}

template <class Real>
train_gpt::embedding_pointers<Real const> read_only(train_gpt::embedding_pointers<Real> const& p) {
  return {p.tokens, p.positions};
}

template <class Real>
train_gpt::block_pointers<Real const> read_only(train_gpt::block_pointers<Real> const& p) {
  return {read_only(p.norm1),
          read_only(p.qkv),
          read_only(p.out),
          read_only(p.norm2),
          read_only(p.up),
          read_only(p.down)};
}

/// One pass of either network, between `begin` and the head.
template <class Network, class Pointers>
void forward_to_head(Network& net, Pointers const& w) {
  net.embed(read_only(w.embed));
  for (std::size_t layer = 0; layer < w.blocks.size(); ++layer) {
    net.block(static_cast<std::int64_t>(layer), read_only(w.blocks[layer]));
  }
  net.norm(read_only(w.norm));
}

template <class Network, class Pointers>
void backward_to_embed(Network& net, Pointers const& w, Pointers const& g) {
  net.head_backward(read_only(w.embed), g.embed);
  net.norm_backward(read_only(w.norm), g.norm);
  for (std::size_t layer = w.blocks.size(); layer-- > 0;) {
    net.block_backward(
        static_cast<std::int64_t>(layer), read_only(w.blocks[layer]), g.blocks[layer]);
  }
}

struct problem {
  gpt_shape shape;
  std::int64_t batch;
  std::vector<std::uint8_t> tokens;
  std::vector<std::uint8_t> targets;

  problem(gpt_shape const& s, std::int64_t windows)
      : shape(s),
        batch(windows) {
    for (std::int64_t row = 0; row < batch * shape.context; ++row) {
      auto const bits = zero::random_bits(11, static_cast<std::uint64_t>(row));
      tokens.push_back(static_cast<std::uint8_t>(97 + bits % 7));
      targets.push_back(static_cast<std::uint8_t>(97 + bits / 7 % 7));
    }
  }
};

/// Random parameters that T represents.
template <class T>
std::vector<T> parameters(problem const& p) {
  model_pointers<T> const layout(nullptr, p.shape);
  std::vector<T> values(static_cast<std::size_t>(layout.elements));
  for (std::size_t i = 0; i < values.size(); ++i) {
    float const x = 0.15f * zero::approximately_normal(3, i);
    values[i] = zero::from_float<T>(x);
  }
  // Norms' weights are about 1.
  auto const raise = [&](auto const& norm) {
    std::size_t const first = static_cast<std::size_t>(norm.weight - static_cast<T*>(nullptr));
    for (std::int64_t i = 0; i < p.shape.channels; ++i) {
      T& x = values[first + static_cast<std::size_t>(i)];
      x = zero::from_float<T>(1 + zero::to_float(x));
    }
  };
  for (auto const& block : layout.blocks) {
    raise(block.norm1);
    raise(block.norm2);
  }
  raise(layout.norm);
  return values;
}

struct outcome {
  double loss = 0;
  std::vector<double> gradients;
};

template <class T>
outcome on_host(problem const& p, std::vector<T> const& values) {
  std::vector<double> w;
  for (T const x : values) {
    w.push_back(static_cast<double>(zero::to_float(x)));
  }
  outcome result;
  result.gradients.resize(w.size());
  model_pointers<double> const weights(w.data(), p.shape);
  model_pointers<double> const gradients(result.gradients.data(), p.shape);
  train_gpt::network<double> net(p.shape, p.batch);
  net.begin(p.tokens.data(), p.batch, p.shape.context);
  forward_to_head(net, weights);
  result.loss = net.head(read_only(weights.embed), p.targets.data(), 2.0);
  backward_to_embed(net, weights, gradients);
  std::vector<double> head(gradients.embed.tokens,
                           gradients.embed.tokens + p.shape.vocabulary * p.shape.channels);
  net.embed_backward(gradients.embed);
  for (std::size_t i = 0; i < head.size(); ++i) {
    gradients.embed.tokens[i] += head[i];
  }
  return result;
}

template <class T>
outcome on_gpu(problem const& p,
               std::vector<T> const& values,
               train_gpt::gpu::network_options const& chosen) {
  auto const put = [](auto const& from) {
    zero::gpu::memory m(static_cast<std::int64_t>(from.size() * sizeof from[0]), "test");
    zero::check_cuda(
        cudaMemcpy(m.get(), from.data(), from.size() * sizeof from[0], cudaMemcpyHostToDevice),
        "cudaMemcpy");
    // The copy may end after the call, and other streams do not wait for it.
    zero::check_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
    return m;
  };
  zero::gpu::memory const w = put(values);
  zero::gpu::memory const tokens = put(p.tokens);
  zero::gpu::memory const targets = put(p.targets);
  zero::gpu::memory const scale = put(std::vector<float>{2.0f});
  zero::gpu::memory const loss = put(std::vector<double>{10.0});
  // Gradients begin as NaN, so that an element nobody writes is seen.
  zero::gpu::memory const g = put(std::vector<std::uint8_t>(values.size() * sizeof(T), 0xff));
  model_pointers<T> const weights(static_cast<T*>(w.get()), p.shape);
  model_pointers<T> const gradients(static_cast<T*>(g.get()), p.shape);
  cudaStream_t stream = nullptr;
  zero::check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  outcome result;
  {
    train_gpt::gpu::network<T> net(p.shape, p.batch, stream, chosen);
    CHECK_MESSAGE((!chosen.cudnn || sizeof(T) == 4 || net.uses_cudnn()),
                  "cuDNN does not serve this");
    net.begin(static_cast<std::uint8_t const*>(tokens.get()));
    forward_to_head(net, weights);
    net.head(read_only(weights.embed),
             static_cast<std::uint8_t const*>(targets.get()),
             static_cast<float const*>(scale.get()),
             static_cast<double*>(loss.get()),
             1.0,
             true);
    backward_to_embed(net, weights, gradients);
    net.embed_backward(gradients.embed);
    zero::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
  zero::check_cuda(cudaStreamDestroy(stream), "cudaStreamDestroy");
  std::vector<T> got(values.size());
  zero::check_cuda(cudaMemcpy(got.data(), g.get(), got.size() * sizeof(T), cudaMemcpyDeviceToHost),
                   "cudaMemcpy");
  zero::check_cuda(cudaMemcpy(&result.loss, loss.get(), sizeof(double), cudaMemcpyDeviceToHost),
                   "cudaMemcpy");
  result.loss -= 10.0;
  for (T const x : got) {
    result.gradients.push_back(static_cast<double>(zero::to_float(x)));
  }
  return result;
}

/// ||a - b|| / ||b|| over one tensor.
double distance(double const* a, double const* b, std::int64_t count) {
  double difference = 0;
  double size = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  return std::sqrt(difference / size);
}

template <class T>
void compare(problem const& p, train_gpt::gpu::network_options const& chosen, double limit) {
  std::vector<T> const values = parameters<T>(p);
  outcome const expected = on_host(p, values);
  outcome const got = on_gpu(p, values, chosen);
  CHECK(std::abs(got.loss - expected.loss) < limit * expected.loss);
  model_pointers<T> const layout(nullptr, p.shape);
  double worst = 0;
  for (std::size_t i = 0; i < layout.tensors.size(); ++i) {
    auto const [first, count] = layout.tensors[i];
    double const d = distance(&got.gradients[static_cast<std::size_t>(first)],
                              &expected.gradients[static_cast<std::size_t>(first)],
                              count);
    INFO("tensor ", i, " of ", count, " elements");
    // The bias of the keys has no gradient but rounding: softmax takes a common offset out. It is a
    // third of that tensor, and does not matter to its norm.
    CHECK(d < limit);
    worst = d > worst || !(d == d) ? d : worst;
  }
  MESSAGE("loss ", expected.loss, " against ", got.loss, ", worst tensor ", worst);
  outcome const again = on_gpu(p, values, chosen);
  bool same = again.loss == got.loss;
  for (auto const& [first, count] : layout.tensors) {
    for (std::int64_t i = first; i < first + count; ++i) {
      same = same && again.gradients[static_cast<std::size_t>(i)] ==
                         got.gradients[static_cast<std::size_t>(i)];
    }
  }
  CHECK_MESSAGE(same, "two runs differ");
}

gpt_shape const small{.layers = 2, .channels = 96, .heads = 4, .context = 40, .vocabulary = 264};
gpt_shape const larger{.layers = 2, .channels = 256, .heads = 4, .context = 256, .vocabulary = 256};

}  // namespace

TEST_CASE("the GPU's network has the host's gradients in FP32") {
  for (bool const fuse : {false, true}) {
    CAPTURE(fuse);
    compare<float>(problem(small, 3), {.cudnn = false, .fuse = fuse}, 2e-4);
    compare<float>(problem(larger, 2), {.cudnn = false, .fuse = fuse}, 2e-4);
  }
}

TEST_CASE_TEMPLATE("the GPU's network has the host's gradients in 16 bits",
                   T,
                   zero::bf16,
                   zero::fp16) {
  double const limit = std::is_same_v<T, zero::bf16> ? 8e-2 : 1e-2;
  for (bool const fuse : {false, true}) {
    CAPTURE(fuse);
    compare<T>(problem(small, 3), {.cudnn = false, .fuse = fuse}, limit);
    compare<T>(problem(larger, 2), {.cudnn = false, .fuse = fuse}, limit);
  }
}

TEST_CASE_TEMPLATE("cuDNN's attention gives the same gradients" *
                       doctest::skip(!train_gpt::gpu::built_with_cudnn()),
                   T,
                   zero::bf16,
                   zero::fp16) {
  double const limit = std::is_same_v<T, zero::bf16> ? 8e-2 : 1e-2;
  compare<T>(problem(larger, 2), {.cudnn = true}, limit);
}
