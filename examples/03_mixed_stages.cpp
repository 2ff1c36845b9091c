// SPDX-License-Identifier: Apache-2.0
// What it shows: stages mixed inside one model. Four ranks, threads of this process, train a vision
//   part and a text part. The vision part is small: to shard its parameters saves little and costs
//   a gather a visit. So it is in stage 2 and the text part in stage 3: one line says it, and the
//   loop does not change. Needs no GPU.
// How to run it: example_03_mixed_stages, in the folder `examples` of the build.
// What it prints: for stage 2, the mix and stage 3 memory of a rank, bytes that a rank sends a
//   step, median time of a step (of threads that share this machine's cores), and hash of the
//   parameters. Returns non-zero unless the hashes are equal and the mix lies between the two in
//   memory and bytes.
#include <zero/zero.hpp>

#include <boost/hana/define_struct.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

constexpr int ranks = 4, steps = 15, vision_depth = 4, text_depth = 8, width = 20'000;

using Layer = zero::Tensor<float, width>;

struct Model {
  using Vision = std::array<Layer, vision_depth>;
  using Text = std::array<Layer, text_depth>;
  BOOST_HANA_DEFINE_STRUCT(Model, (Vision, vision), (Text, text));
};

// [engines]
template <class Policy>
using Engine = zero::ZeroEngine<Model, Policy, zero::Precision<zero::FP32>, zero::AdamW>;

using Mixed =
    zero::PerUnit<zero::Default<zero::Stage<3>>, zero::For<&Model::vision, zero::Stage<2>>>;
// [engines]

static_assert(zero::plan<Engine<Mixed>>(zero::world<ranks>).device_bytes() <
              zero::plan<Engine<zero::Stage<2>>>(zero::world<ranks>).device_bytes());

/// A forward and a backward through both parts, each layer x + w x, towards doubled numbers.
template <class Engine>
void train_step(Engine& engine, int step) {
  constexpr std::size_t depth = vision_depth + text_depth;
  static thread_local std::vector<std::array<float, width>> x(depth + 1), d(1);
  for ([[maybe_unused]] auto micro : engine.micro_steps(1)) {
    for (int i = 0; i < width; ++i) {  // each rank has data of its own
      x[0][i] = zero::approximately_normal(engine.rank(), step * width + i);
    }
    std::size_t at = 0;
    auto forward = [&](auto member, int l) {
      auto layer = engine.forward(member, l);
      for (int i = 0; i < width; ++i) {
        x[at + 1][i] = x[at][i] + (*layer)[i] * x[at][i];
      }
      ++at;
    };
    auto backward = [&](auto member, int l) {
      --at;
      auto layer = engine.backward(member, l);
      auto& gradient = layer.grads(zero::overwrite);
      for (int i = 0; i < width; ++i) {
        gradient[i] = d[0][i] * x[at][i];
        d[0][i] += (*layer)[i] * d[0][i];
      }
    };
    for (int l = 0; l < vision_depth; ++l) {
      forward(&Model::vision, l);
    }
    for (int l = 0; l < text_depth; ++l) {
      forward(&Model::text, l);
    }
    for (int i = 0; i < width; ++i) {
      d[0][i] = x[depth][i] - 2 * x[0][i];
    }
    for (int l = text_depth; l-- > 0;) {
      backward(&Model::text, l);
    }
    for (int l = vision_depth; l-- > 0;) {
      backward(&Model::vision, l);
    }
  }
  engine.step({.lr = 0.01});
  static_cast<void>(engine.result());  // waits
}

struct Outcome {
  char const* name = "";
  std::int64_t memory = 0;
  std::int64_t sent = 0;  ///< in the last step
  std::vector<double> milliseconds{};
  std::uint64_t hash = 0;
};

/// An engine of one rank, and what came of it so far.
template <class Policy>
struct Run {
  Engine<Policy> engine;
  Outcome outcome;

  template <class Communicator>
  Run(char const* name, Communicator communicator)
      : engine(Model(), std::move(communicator)) {
    outcome.name = name;
    engine.initialize([](auto const& parameter, std::int64_t first, std::span<float> values) {
      for (float& w : values) {
        w = 0.1F * zero::approximately_normal(parameter.key, first++);
      }
    });
    for (auto const& pool : engine.pools()) {
      outcome.memory += pool.allocated_bytes;
    }
  }

  void step(int number) {
    auto const before = engine.traffic();
    auto const start = std::chrono::steady_clock::now();
    train_step(engine, number);
    std::chrono::duration<double, std::milli> const took = std::chrono::steady_clock::now() - start;
    outcome.milliseconds.push_back(took.count());
    outcome.sent = (engine.traffic() - before).total().bytes;
  }
};

int main() {
  std::vector<Outcome> outcomes;
  zero::local_world const second(ranks), third(ranks);  // an engine takes a world of its own
  zero::Local::run(ranks, [&](auto communicator) {
    int const rank = communicator.rank();
    Run<zero::Stage<2>> whole("stage 2", std::move(communicator));
    Run<Mixed> mixed("mixed", second.communicator(rank));
    Run<zero::Stage<3>> sharded("stage 3", third.communicator(rank));
    for (int step = 0; step < steps; ++step) {  // in turns, so that all meet the same disturbances
      whole.step(step);
      mixed.step(step);
      sharded.step(step);
    }
    whole.outcome.hash = whole.engine.parameters_hash();
    mixed.outcome.hash = mixed.engine.parameters_hash();
    sharded.outcome.hash = sharded.engine.parameters_hash();
    if (rank == 0) {
      outcomes = {whole.outcome, mixed.outcome, sharded.outcome};
    }
  });
  for (auto& o : outcomes) {
    std::ranges::sort(o.milliseconds);
    std::printf("%s: %lld bytes a rank, %lld bytes sent a step, %.3f ms a step, hash %016llx\n",
                o.name,
                static_cast<long long>(o.memory),
                static_cast<long long>(o.sent),
                o.milliseconds[o.milliseconds.size() / 2],
                static_cast<unsigned long long>(o.hash));
  }
  bool right = true;
  for (std::size_t i = 1; i < outcomes.size(); ++i) {
    right = right && outcomes[i].hash == outcomes[0].hash &&
            outcomes[i].memory < outcomes[i - 1].memory && outcomes[i].sent > outcomes[i - 1].sent;
  }
  return right ? 0 : 1;
}
