// SPDX-License-Identifier: Apache-2.0
// What it shows: one training loop for every stage. Four ranks, threads of this process, teach
//   eight layers to double numbers. Stages differ in memory, and in no bit of the result. Needs no
//   GPU.
// How to run it: example_01_quickstart, in the folder `examples` of the build.
// What it prints: memory of a rank, last loss and hash of the parameters, a line a stage. Returns
//   non-zero unless the hashes are equal, each stage needs less memory than the last, and it
//   learned.
#include <zero/zero.hpp>

#include <boost/hana/define_struct.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

// [model]
constexpr int depth = 8, width = 10'000;
using Layers = std::array<zero::Tensor<float, width>, depth>;

struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model, (Layers, layers));
};

// [model]
struct Outcome {
  std::int64_t bytes = 0;
  double loss = 0;
  std::uint64_t hash = 0;
};

template <class Stage>
Outcome train() {
  Outcome outcome;
  zero::Local::run(4, [&outcome](auto communicator) {
    // [loop]
    using Engine = zero::ZeroEngine<Model, Stage, zero::Precision<zero::FP32>, zero::AdamW>;
    Engine engine(Model(), std::move(communicator));
    engine.initialize([](auto const& parameter, std::int64_t first, std::span<float> values) {
      for (float& w : values) {
        w = 0.1F * zero::approximately_normal(parameter.key, first++);
      }
    });
    std::vector<std::array<float, width>> x(depth + 1), d(1);
    double loss = 0;
    for (int step = 0; step < 30; ++step) {
      for ([[maybe_unused]] auto micro : engine.micro_steps(1)) {
        for (int i = 0; i < width; ++i) {  // each rank has data of its own
          x[0][i] = zero::approximately_normal(engine.rank(), step * width + i);
        }
        for (int l = 0; l < depth; ++l) {
          auto layer = engine.forward(&Model::layers, l);
          for (int i = 0; i < width; ++i) {
            x[l + 1][i] = x[l][i] + (*layer)[i] * x[l][i];
          }
        }
        loss = 0;
        for (int i = 0; i < width; ++i) {
          d[0][i] = x[depth][i] - 2 * x[0][i];
          loss += 0.5 * d[0][i] * d[0][i] / width;
        }
        for (int l = depth; l-- > 0;) {
          auto layer = engine.backward(&Model::layers, l);
          auto& gradient = layer.grads(zero::overwrite);
          for (int i = 0; i < width; ++i) {
            gradient[i] = d[0][i] * x[l][i];
            d[0][i] += (*layer)[i] * d[0][i];
          }
        }
      }
      engine.step({.lr = 0.01});
    }
    // [loop]
    Outcome mine{0, engine.mean(loss), engine.parameters_hash()};
    for (auto const& pool : engine.pools()) {
      mine.bytes += pool.allocated_bytes;
    }
    if (engine.rank() == 0) {
      outcome = mine;
      std::printf("stage %d: %lld bytes a rank, loss %.6f, hash %016llx\n",
                  Stage::value,
                  static_cast<long long>(mine.bytes),
                  mine.loss,
                  static_cast<unsigned long long>(mine.hash));
    }
  });
  return outcome;
}

int main() {
  Outcome const stages[] = {train<zero::Stage<0>>(),
                            train<zero::Stage<1>>(),
                            train<zero::Stage<2>>(),
                            train<zero::Stage<3>>()};
  bool right = stages[0].loss < 0.1;
  for (int s = 1; s < 4; ++s) {
    right = right && stages[s].hash == stages[0].hash && stages[s].bytes < stages[s - 1].bytes;
  }
  return right ? 0 : 1;
}
