// SPDX-License-Identifier: Apache-2.0
// A GPT trained by zero's engine over NCCL, one process a GPU: time of a step and memory of a rank
// for each stage. `bench/scaling/gpt` runs it for several numbers of GPUs and against PyTorch.
//
// Every rank is a process; all of them run this program:
//   tests/gpu/run_processes --gpu-each 2 gpt [--stages 0123] [--turns 3] [--steps-per-turn 4]
//                                            [--json FILE] [OPTION of train_gpt...]
// The sizes are GPT-2's of 1.5e9 parameters and 8 windows of 1024 tokens a GPU, unless options of
// the example say otherwise. A stage whose states do not fit the device is left out, and the table
// says so.
#include "bench/support/synthetic.cuh"
#include "examples/train_gpt/corpus.hpp"
#include "examples/train_gpt/gpu/network.hpp"
#include "examples/train_gpt/gpu/passes.hpp"
#include "examples/train_gpt/gpu/windows.hpp"
#include "examples/train_gpt/model.hpp"
#include "examples/train_gpt/options.hpp"
#include "examples/train_gpt/progress.hpp"
#include "examples/train_gpt/tuning.hpp"

#include <zero/comm/nccl.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using model = train_gpt::Gpt<zero::bf16>;
using network = train_gpt::gpu::network<zero::bf16>;
namespace gpu = train_gpt::gpu;

struct settings {
  std::string stages = "0123";
  int turns = 3;
  int steps = 4;
  std::string json;
  train_gpt::options chosen;
};

[[nodiscard]] settings parse(std::vector<std::string> arguments) {
  auto const take = [&](std::string const& name, std::string value) {
    auto const at = std::find(arguments.begin(), arguments.end(), name);
    if (at != arguments.end() && at + 1 != arguments.end()) {
      value = *(at + 1);
      arguments.erase(at, at + 2);
    }
    return value;
  };
  settings result;
  result.stages = take("--stages", result.stages);
  result.turns = std::stoi(take("--turns", "3"));
  result.steps = std::stoi(take("--steps-per-turn", "4"));
  result.json = take("--json", "");
  std::vector<std::string> all = {"--device", "gpu", "--layers",  "48",   "--channels",   "1600",
                                  "--heads",  "25",  "--context", "1024", "--vocabulary", "50304",
                                  "--batch",  "8",   "--ranks",   "1",    "--lr",         "0.0002",
                                  "--steps",  "1000"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  result.chosen = train_gpt::parse(all);
  return result;
}

struct figures {
  std::vector<double> ms;  ///< a step, one a turn, of the slowest rank
  double loss = 0;
  std::int64_t parameters = 0;
  std::int64_t formula_bytes = 0;
  std::int64_t planned_bytes = 0;
  std::int64_t driver_bytes = 0;  ///< taken by the engine, the activations and the text not
  std::int64_t activation_bytes = 0;
};

[[nodiscard]] std::int64_t free_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  zero::check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return static_cast<std::int64_t>(free);
}

/// Uniform of a deviation of about 0.02, cheap to make; 1 for the weights of norms, 0 for biases.
void initial_values(zero::parameter_view const& parameter,
                    std::int64_t first,
                    std::span<float> values) {
  if (parameter.shape.rank() == 1) {
    std::fill(values.begin(),
              values.end(),
              parameter.name.find("norm") != std::string::npos && parameter.name.ends_with("weight")
                  ? 1.0F
                  : 0.0F);
    return;
  }
  auto const key = static_cast<std::uint32_t>(parameter.key);
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto x = static_cast<std::uint32_t>(static_cast<std::uint64_t>(first) + i) * 0x9e3779b1U ^ key;
    x = (x ^ x >> 15U) * 0x85ebca6bU;
    values[i] = 0.07F * (static_cast<float>(x >> 8U) * 0x1p-24F - 0.5F);
  }
}

template <class Stage>
[[nodiscard]] figures train(settings const& with,
                            train_gpt::corpus const& text,
                            zero::nccl_communicator& world) {
  using Engine =
      zero::ZeroEngine<model, Stage, zero::Precision<zero::BF16>, zero::Nccl, zero::Cuda>;
  auto const& chosen = with.chosen;
  figures out;
  zero::gpu::stream const stream(zero::gpu::stream_priority::normal);
  train_gpt::schedule const schedule(chosen);
  network net(chosen.shape, chosen.batch, stream.get());
  gpu::windows windows(text, chosen.batch, chosen.shape.context, stream.get());
  zero::gpu::memory const loss(sizeof(double), "loss");
  auto communicator = world.duplicate();
  std::int64_t const before = free_bytes();

  typename Engine::options options;
  options.clip_norm = chosen.clip;
  train_gpt::tune(options.optimizer);
  Engine engine(model(chosen.shape),
                std::move(communicator),
                options,
                zero::cuda_options{.compute_stream = stream.get()});
  engine.initialize(initial_values);

  std::int64_t step = 0;
  auto const train_step = [&] {
    for ([[maybe_unused]] auto const micro : engine.micro_steps(1)) {
      std::int64_t const first = (step * world.size() + world.rank()) * chosen.batch;
      windows.fill([&](std::int64_t i) {
        return text.training_window(chosen.seed, static_cast<std::uint64_t>(first + i));
      });
      net.begin(windows.tokens());
      gpu::forward_to_head<model>(engine, net, chosen.shape.layers);
      {
        auto const lease = engine.forward(&model::embed);
        net.head(gpu::addresses(*lease),
                 windows.targets(),
                 engine.loss_scale(),
                 static_cast<double*>(loss.get()),
                 1.0,
                 false);
      }
      gpu::backward<model>(engine, net, chosen.shape.layers);
    }
    engine.step({.lr = schedule.learning_rate(step++)});
  };
  for (int turn = -1; turn < with.turns; ++turn) {  // the first one only warms up
    zero::check_cuda(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
    static_cast<void>(engine.mean(0));
    auto const start = std::chrono::steady_clock::now();
    for (int i = 0; i < with.steps; ++i) {
      train_step();
    }
    zero::check_cuda(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
    static_cast<void>(engine.mean(0));  // ends when the slowest rank has ended
    std::chrono::duration<double, std::milli> const ms = std::chrono::steady_clock::now() - start;
    if (turn >= 0) {
      out.ms.push_back(ms.count() / with.steps);
    }
  }
  double mine = 0;
  zero::check_cuda(cudaMemcpy(&mine, loss.get(), sizeof mine, cudaMemcpyDeviceToHost),
                   "cudaMemcpy");
  out.loss = engine.mean(mine);
  for (auto const& parameter : engine.parameters()) {
    out.parameters += parameter.elements;
  }
  out.driver_bytes = before - free_bytes();
  out.formula_bytes = engine.formula_bytes();
  out.planned_bytes = engine.plan().device_bytes();
  out.activation_bytes = net.bytes();
  return out;
}

int run(settings const& with) {
  auto world = zero::Nccl::from_environment();
  zero::gpu::device_guard const guard(world.device());
  auto const text = train_gpt::corpus::read(with.chosen.data, with.chosen.shape.context);
  std::optional<bench::table> out;
  if (world.rank() == 0) {
    out.emplace(std::vector<std::pair<std::string, int>>{{"stage", 6},
                                                         {"ranks", 7},
                                                         {"parameters", 12},
                                                         {"tokens_s_gpu", 14},
                                                         {"ms", 10},
                                                         {"ms_min", 10},
                                                         {"ms_max", 10},
                                                         {"loss", 9},
                                                         {"formula_GB", 12},
                                                         {"planned_GB", 12},
                                                         {"driver_GB", 12},
                                                         {"activations_GB", 16}});
  }
  auto const giga = [](std::int64_t bytes) {
    return bench::text(static_cast<double>(bytes) * 1e-9, 3);
  };
  bench::for_stages([&]<class Stage>() {
    if (with.stages.find(static_cast<char>('0' + Stage::value)) == std::string::npos) {
      return;
    }
    try {
      auto f = train<Stage>(with, text, world);
      if (out) {
        std::sort(f.ms.begin(), f.ms.end());
        double const ms = f.ms[f.ms.size() / 2];
        auto const tokens = static_cast<double>(with.chosen.batch * with.chosen.shape.context);
        out->row({std::to_string(Stage::value),
                  std::to_string(world.size()),
                  std::to_string(f.parameters),
                  bench::text(tokens / ms * 1e3, 0),
                  bench::text(ms, 2),
                  bench::text(f.ms.front(), 2),
                  bench::text(f.ms.back(), 2),
                  bench::text(f.loss, 4),
                  giga(f.formula_bytes),
                  giga(f.planned_bytes),
                  giga(f.driver_bytes),
                  giga(f.activation_bytes)});
      }
    } catch (zero::out_of_memory const& error) {  // alike on all ranks
      if (out) {
        std::printf("%6d %6d  does not fit: %.120s\n", Stage::value, world.size(), error.what());
      }
    }
  });
  if (out) {
    out->write(with.json);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse({argv + 1, argv + argc}));
  } catch (std::exception const& error) {
    std::fprintf(stderr, "gpt: %s\n", error.what());
    return 1;
  }
}
