// SPDX-License-Identifier: Apache-2.0
// One parameter of more than 2^31 elements, trained on a GPU and checked against a plain loop in
// host arithmetic at sampled elements: the first, the last, those around 2^31, shard borders, and
// random ones. Gradients come from the element's index. Stages 0 with one rank and 3 with two local
// ranks.
#include "bench/support/synthetic.cuh"

#include <zero/optim/adamw.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t elements = (std::int64_t{1} << 31) + 12'345;
constexpr int steps = 3;
constexpr double lr = 1e-2;

ZERO_HOST_DEVICE float initial_value(std::int64_t i) {
  return zero::sub(zero::uniform(1, static_cast<std::uint64_t>(i)), 0.5F);
}

/// Small integers over 64: exact in bf16, and sums over ranks are exact.
ZERO_HOST_DEVICE float gradient_value(std::int64_t i, int step) {
  auto const bits =
      zero::random_bits(static_cast<std::uint64_t>(2 + step), static_cast<std::uint64_t>(i));
  return static_cast<float>(static_cast<int>(bits % 33) - 16) * 0.015625F;
}

__global__ void gradient_kernel(zero::bf16* g, std::int64_t n, int step) {
  auto const i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) {
    g[i] = zero::from_float<zero::bf16>(gradient_value(i, step));
  }
}

[[nodiscard]] std::vector<std::int64_t> samples() {
  std::vector<std::int64_t> list{0,
                                 1,
                                 elements - 1,
                                 elements / 2,
                                 (std::int64_t{1} << 31) - 1,
                                 std::int64_t{1} << 31,
                                 (std::int64_t{1} << 31) + 1};
  for (std::uint64_t k = 0; k < 20'000; ++k) {
    list.push_back(
        static_cast<std::int64_t>(zero::random_bits(99, k) % static_cast<std::uint64_t>(elements)));
  }
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

[[nodiscard]] float expected(std::int64_t i) {
  float w = initial_value(i);
  float m[2] = {0, 0};
  for (int s = 0; s < steps; ++s) {
    zero::AdamW::update(w, gradient_value(i, s), m, zero::AdamW::prepare({}, lr, 1.0, s + 1));
  }
  return w;
}

template <class Stage>
std::int64_t wrong(int ranks) {
  using Engine = zero::ZeroEngine<bench::Units, Stage, zero::Cuda>;
  std::int64_t bad = -1;
  zero::local_gpu_world::run(ranks, [&](auto communicator) {
    bool const first_rank = communicator.rank() == 0;
    zero::gpu::stream const stream(zero::gpu::stream_priority::normal);
    Engine engine(bench::equal_units(1, elements),
                  std::move(communicator),
                  {},
                  zero::cuda_options{.compute_stream = stream.get()});
    // the values that are looked at, and zeros elsewhere: filling 2^31 numbers on the host takes
    // minutes
    auto const list = samples();
    engine.initialize([&](auto const&, std::int64_t first, std::span<float> values) {
      std::fill(values.begin(), values.end(), 0.0F);
      auto const end = first + static_cast<std::int64_t>(values.size());
      for (auto at = std::lower_bound(list.begin(), list.end(), first);
           at != list.end() && *at < end;
           ++at) {
        values[static_cast<std::size_t>(*at - first)] = initial_value(*at);
      }
    });
    for (int s = 0; s < steps; ++s) {
      bench::passes(
          engine,
          1,
          1,
          [](int, auto&) {},
          [&](int, auto& lease) {
            auto& g = lease.grads(zero::overwrite);
            gradient_kernel<<<static_cast<unsigned>((elements + 255) / 256),
                              256,
                              0,
                              stream.get()>>>(g.data(), elements, s);
            zero::check_cuda(cudaGetLastError(), "gradient_kernel");
          });
      engine.step({.lr = lr});
    }
    std::int64_t mine = 0;
    std::int64_t seen = 0;
    engine.full([&](auto const&, std::int64_t first, std::span<float const> values) {
      auto const end = first + static_cast<std::int64_t>(values.size());
      for (auto at = std::lower_bound(list.begin(), list.end(), first);
           at != list.end() && *at < end;
           ++at) {
        ++seen;
        float const want = expected(*at);
        mine += std::memcmp(&values[static_cast<std::size_t>(*at - first)], &want, sizeof want) == 0
                    ? 0
                    : 1;
      }
    });
    if (first_rank) {
      bad = mine + static_cast<std::int64_t>(list.size()) - seen;
    }
  });
  return bad;
}

}  // namespace

int main(int argc, char** argv) {
  auto const file = bench::json_file(argc, argv);
  bench::table out({{"stage", 6}, {"ranks", 7}, {"elements", 13}, {"samples", 9}, {"wrong", 7}});
  auto row = [&](int stage, int ranks, std::int64_t bad) {
    out.row({std::to_string(stage),
             std::to_string(ranks),
             std::to_string(elements),
             std::to_string(samples().size()),
             std::to_string(bad)});
    return bad == 0;
  };
  bool const one = row(0, 1, wrong<zero::Stage<0>>(1));
  bool const two = row(3, 2, wrong<zero::Stage<3>>(2));
  out.write(file);
  return one && two ? 0 : 1;
}
