// SPDX-License-Identifier: Apache-2.0
// A GPT trained by zero's engine over NCCL, one process a GPU: time of a step, what communication
// adds to it, and memory of a rank, for each stage. `bench/scaling/gpt` runs it and holds it
// against PyTorch and the bars.
//
// Every rank is a process; all of them run this program:
//   tests/gpu/run_processes --gpu-each 2 gpt [--stages 0123] [--turns 5] [--steps-per-turn 4]
//                                            [--registration none|symmetric|peers] [--json FILE]
//                                            [--cta-policy library|efficiency|zero]
//                                            [--peer-reading MiB]
//                                            [OPTION of train_gpt...]
// The sizes are GPT-2's of 1.5e9 parameters and 8 windows of 1024 tokens a GPU, unless options of
// the example say otherwise. A stage whose states do not fit the device is left out, and the table
// says so. The rows so far are in the file whenever the program ends.
//
// Each stage is measured twice. Alone: every GPU trains for itself, all at the same time; the row
// of one rank, whose time is the slowest GPU's. Together: the row of N ranks. Both within seconds,
// on the same GPUs at the same load.
//
// `exposed` is the communication that nothing hides: the part of a step in which the user's stream
// has nothing to do, between the visits of units and the operations of the step, as a timeline
// shows it; the median of six steps, of the rank that waits most. The stamps cost a third of a
// percent, as the rows of one rank say.
//
// `added` is all that communication adds to a step of N ranks: 1 - quiet / whole, where a quiet
// step is the same engine's with the same plan, kernels and update of 1/N, but without its large
// collectives (the 8 bytes a rank by which a step is agreed upon still travel, and keep the ranks
// together). Turns of whole and of quiet steps alternate; the median of the turns' ratios is taken.
// The time on one GPU would be no measure: from stage 1 on a rank updates 1/N of the parameters,
// which hides as much as it saves. Besides what is exposed this holds kernels that run slower
// beside the bytes, and a lower clock: `slower_clock` is how much lower the multiprocessors' clock
// is in whole turns than in quiet ones, under the GPU's limit of power.
#include "bench/support/nccl_settings.hpp"
#include "bench/support/sm_clock.cuh"
#include "bench/support/synthetic.cuh"
#include "examples/train_gpt/corpus.hpp"
#include "examples/train_gpt/gpu/network.hpp"
#include "examples/train_gpt/gpu/passes.hpp"
#include "examples/train_gpt/gpu/windows.hpp"
#include "examples/train_gpt/model.hpp"
#include "examples/train_gpt/options.hpp"
#include "examples/train_gpt/progress.hpp"
#include "examples/train_gpt/tuning.hpp"

#include <zero/comm/nccl/nccl.hpp>
#include <zero/cuda.cuh>

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

namespace scaling {

/// NCCL's communicator, whose large collectives can be left out. What they would have brought is
/// then what lies at the place where it should arrive: weights and gradients of an earlier step or
/// of another layer, so that kernels meet ordinary numbers.
class quietable_communicator : public zero::nccl_communicator {
 public:
  /// @param quiet  read at every call
  quietable_communicator(zero::nccl_communicator whole, bool const& quiet)
      : nccl_communicator(std::move(whole)),
        quiet_(&quiet) {}

  void all_gather(cudaStream_t stream,
                  zero::collective_tag const& tag,
                  void const* send,
                  void* receive,
                  std::int64_t bytes) {
    if (travels(bytes)) {
      nccl_communicator::all_gather(stream, tag, send, receive, bytes);
    }
  }

  void all_to_others(cudaStream_t stream,
                     zero::collective_tag const& tag,
                     void const* send,
                     std::int64_t stride,
                     void* receive,
                     std::int64_t bytes) {
    if (travels(bytes)) {
      nccl_communicator::all_to_others(stream, tag, send, stride, receive, bytes);
    }
  }

  [[nodiscard]] bool reads_others(void const* address, std::int64_t bytes) const noexcept {
    return !*quiet_ && nccl_communicator::reads_others(address, bytes);
  }

  void reduce_scatter(cudaStream_t stream,
                      zero::collective_tag const& tag,
                      void* buffer,
                      std::int64_t elements,
                      zero::dtype type,
                      double prescale) {
    if (travels(elements * zero::bytes_of(type))) {
      nccl_communicator::reduce_scatter(stream, tag, buffer, elements, type, prescale);
    }
  }

 private:
  [[nodiscard]] bool travels(std::int64_t bytes) const { return !*quiet_ || bytes <= 256; }

  bool const* quiet_;
};

static_assert(zero::communicator<quietable_communicator>);

struct Quietable {
  using policy_category = zero::communicator_category;
  template <class Device>
  using communicator = quietable_communicator;
};

}  // namespace scaling

namespace {

using model = train_gpt::Gpt<zero::bf16>;
using network = train_gpt::gpu::network<zero::bf16>;
namespace gpu = train_gpt::gpu;

struct settings {
  std::string stages = "0123";
  int turns = 5;
  int steps = 4;
  std::string json;
  zero::nccl_options nccl;
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
  result.turns = std::stoi(take("--turns", "5"));
  result.steps = std::stoi(take("--steps-per-turn", "4"));
  result.json = take("--json", "");
  result.nccl.registration = bench::registration_named(take("--registration", "none"));
  auto& reading = result.nccl.peer_reading_bytes;
  reading = std::stoll(take("--peer-reading", std::to_string(reading >> 20))) << 20;
  result.nccl.cta_policy =
      bench::named<zero::nccl_cta_policy>("--cta-policy",
                                          take("--cta-policy", "library"),
                                          {{"library", zero::nccl_cta_policy::library},
                                           {"efficiency", zero::nccl_cta_policy::efficiency},
                                           {"zero", zero::nccl_cta_policy::zero}});
  std::vector<std::string> all = {"--device", "gpu", "--layers",  "48",   "--channels",   "1600",
                                  "--heads",  "25",  "--context", "1024", "--vocabulary", "50304",
                                  "--batch",  "8",   "--ranks",   "1",    "--lr",         "0.0002",
                                  "--steps",  "1000"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  result.chosen = train_gpt::parse(all);
  return result;
}

/// Of one stage on so many ranks. Times are of the slowest rank.
struct figures {
  std::vector<double> ms;      ///< a step, one a turn
  std::vector<double> quiet;   ///< a quiet step, one a turn; empty for one rank
  std::vector<double> added;   ///< 1 - quiet / ms, one a turn
  std::vector<double> slower;  ///< 1 - clock of a whole turn / clock of a quiet one
  double exposed = 0;          ///< part of a step in which the user's stream waits
  double fastest_ms = 0;       ///< of the fastest rank, the median of the turns
  int skipped = 0;             ///< turns whose last step was skipped, which makes it shorter
  double loss = 0;             ///< after the first steps, before any quiet one
  std::int64_t parameters = 0;
  std::int64_t formula_bytes = 0;
  std::int64_t planned_bytes = 0;
  std::int64_t built_bytes = 0;   ///< of the driver, taken by the engine's construction
  std::int64_t driver_bytes = 0;  ///< the same, and what its steps have taken
};

[[nodiscard]] double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

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

/// What all stages share: one network and its activations, the text, the ranks.
struct bench_state {
  explicit bench_state(settings const& given)
      : with(given),
        world(zero::Nccl::from_environment(given.nccl)),
        guard(world.device()),
        stream(zero::gpu::stream_priority::normal),
        text(train_gpt::corpus::read(with.chosen.data, with.chosen.shape.context)),
        net(with.chosen.shape,
            with.chosen.batch,
            stream.get(),
            {.deterministic = with.chosen.deterministic}),
        windows(text, with.chosen.batch, with.chosen.shape.context, stream.get()),
        loss(sizeof(double), "loss"),
        times(world.size() * std::int64_t{sizeof(double)}, "times") {}

  /// All ranks' values, in rank order. A barrier.
  [[nodiscard]] std::vector<double> gather(double mine) {
    auto* const all = static_cast<double*>(times.get());
    std::vector<double> values(static_cast<std::size_t>(world.size()));
    zero::check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    zero::check_cuda(
        cudaMemcpyAsync(
            all + world.rank(), &mine, sizeof mine, cudaMemcpyHostToDevice, stream.get()),
        "cudaMemcpyAsync");
    world.all_gather(stream.get(),
                     {.operation_name = "times"},
                     all + world.rank(),
                     all,
                     std::int64_t{sizeof mine});
    zero::check_cuda(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
    zero::check_cuda(
        cudaMemcpy(values.data(), all, values.size() * sizeof mine, cudaMemcpyDeviceToHost),
        "cudaMemcpy");
    world.check();
    return values;
  }

  settings with;
  zero::nccl_communicator world;
  zero::gpu::device_guard guard;
  zero::gpu::stream stream;
  train_gpt::corpus text;
  network net;
  gpu::windows windows;
  zero::gpu::memory loss;
  zero::gpu::memory times;
};

/// This process as a world of its own.
[[nodiscard]] zero::nccl_communicator alone(bench_state& here) {
  ncclUniqueId id{};
  zero::check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
  zero::nccl_options options = here.with.nccl;
  options.device = here.world.device();
  return zero::Nccl::from_id(id, 0, 1, options);
}

template <class Stage>
[[nodiscard]] figures train(bench_state& here,
                            zero::nccl_communicator ranks,
                            train_gpt::gpt_shape const& shape,
                            int turns) {
  using Engine =
      zero::ZeroEngine<model, Stage, zero::Precision<zero::BF16>, scaling::Quietable, zero::Cuda>;
  auto const& chosen = here.with.chosen;
  figures out;
  cudaStream_t const stream = here.stream.get();
  train_gpt::schedule const schedule(chosen);
  int const size = ranks.size();
  int const rank = here.world.rank();  // of the text too, where every GPU trains for itself
  bool quiet = false;
  static_cast<void>(here.gather(0));
  std::int64_t const before = free_bytes();

  typename Engine::options options;
  options.clip_norm = chosen.clip;
  train_gpt::tune(options.optimizer);
  Engine engine(model(shape),
                scaling::quietable_communicator(std::move(ranks), quiet),
                options,
                zero::cuda_options{.compute_stream = stream,
                                   .allocator = bench::allocator_for(here.with.nccl.registration)});
  out.built_bytes = before - free_bytes();
  engine.initialize(initial_values);

  std::int64_t step = 0;
  auto const train_step = [&] {
    for ([[maybe_unused]] auto const micro : engine.micro_steps(1)) {
      std::int64_t const first = (step * here.world.size() + rank) * chosen.batch;
      here.windows.fill([&](std::int64_t i) {
        return here.text.training_window(chosen.seed, static_cast<std::uint64_t>(first + i));
      });
      here.net.begin(here.windows.tokens());
      gpu::forward_to_head<model>(engine, here.net, shape.layers);
      {
        auto const lease = engine.forward(&model::embed);
        here.net.head(gpu::addresses(*lease),
                      here.windows.targets(),
                      engine.loss_scale(),
                      static_cast<double*>(here.loss.get()),
                      1.0,
                      false);
      }
      gpu::backward<model>(engine, here.net, shape.layers);
    }
    engine.step({.lr = schedule.learning_rate(step++)});
  };
  bench::sm_clock clock;
  double megahertz = 0;  // of the last turn
  // Milliseconds of a step, of each rank.
  auto const turn = [&] {
    static_cast<void>(here.gather(0));
    auto const start = std::chrono::steady_clock::now();
    clock.begin(stream);
    for (int i = 0; i < here.with.steps; ++i) {
      train_step();
    }
    megahertz = clock.end(stream);
    zero::check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    std::chrono::duration<double, std::milli> const ms = std::chrono::steady_clock::now() - start;
    return here.gather(ms.count() / here.with.steps);
  };
  auto const slowest = [](std::vector<double> const& all) {
    return *std::max_element(all.begin(), all.end());
  };
  static_cast<void>(turn());  // warms up
  double mine = 0;
  zero::check_cuda(cudaMemcpy(&mine, here.loss.get(), sizeof mine, cudaMemcpyDeviceToHost),
                   "cudaMemcpy");
  out.loss = engine.mean(mine);
  std::vector<double> fastest;
  for (int i = 0; i < turns; ++i) {
    auto const all = turn();
    out.ms.push_back(slowest(all));
    fastest.push_back(*std::min_element(all.begin(), all.end()));
    if (size > 1) {
      double const whole_megahertz = megahertz;
      quiet = true;
      out.quiet.push_back(slowest(turn()));
      quiet = false;
      out.slower.push_back(1 - whole_megahertz / megahertz);
      out.added.push_back(1 - out.quiet.back() / out.ms.back());
    }
    out.skipped += engine.result().applied ? 0 : 1;
  }
  static_cast<void>(here.gather(0));  // so that the ranks begin together
  out.exposed = slowest(here.gather(exposed_part(engine, train_step)));
  out.fastest_ms = turns > 0 ? median(fastest) : 0;
  for (auto const& parameter : engine.parameters()) {
    out.parameters += parameter.elements;
  }
  out.driver_bytes = before - free_bytes();
  out.formula_bytes = engine.formula_bytes();
  out.planned_bytes = engine.plan().device_bytes();
  return out;
}

/// The part of a step in which the user's stream waits, between the visits of units and the
/// operations of the step: the median of six. One more comes first, which finds empty queues.
template <class Engine, class Step>
double exposed_part(Engine& engine, Step const& train_step) {
  engine.start_timeline();
  for (int i = 0; i < 7; ++i) {
    train_step();
  }
  auto entries = engine.stop_timeline();
  std::erase_if(entries, [](auto const& entry) { return entry.row != zero::queue::compute; });
  std::ranges::sort(entries, {}, &zero::timeline_entry::begin_us);
  std::vector<double> parts;
  double waited_us = 0;
  double last_step_us = entries.front().end_us;
  for (std::size_t i = 1; i < entries.size(); ++i) {
    waited_us += std::max(0.0, entries[i].begin_us - entries[i - 1].end_us);
    if (i + 1 == entries.size() || entries[i + 1].step != entries[i].step) {
      parts.push_back(waited_us / (entries[i].end_us - last_step_us));
      last_step_us = entries[i].end_us;
      waited_us = 0;
    }
  }
  zero::precondition(parts.size() == 7, "the timeline of seven steps has another number");
  parts.erase(parts.begin());
  return median(std::move(parts));
}

void print(bench::table& out, bench_state const& here, int stage, int ranks, figures const& f) {
  auto const giga = [](std::int64_t bytes) {
    return bench::text(static_cast<double>(bytes) * 1e-9, 4);
  };
  auto const part = [&](auto&& of) {
    return f.added.empty() ? std::string("none") : bench::text(of(f.added), 4);
  };
  auto const least = [](std::vector<double> const& v) {
    return *std::min_element(v.begin(), v.end());
  };
  auto const most = [](std::vector<double> const& v) {
    return *std::max_element(v.begin(), v.end());
  };
  auto const& chosen = here.with.chosen;
  double const ms = median(f.ms);
  out.row({std::to_string(stage),
           std::to_string(ranks),
           std::to_string(f.parameters),
           bench::text(static_cast<double>(chosen.batch * chosen.shape.context) / ms * 1e3, 0),
           bench::text(ms, 2),
           bench::text(least(f.ms), 2),
           bench::text(most(f.ms), 2),
           bench::text(f.fastest_ms, 2),
           f.quiet.empty() ? "none" : bench::text(median(f.quiet), 2),
           part(median),
           part(least),
           part(most),
           bench::text(f.exposed, 4),
           f.slower.empty() ? "none" : bench::text(median(f.slower), 4),
           std::to_string(f.skipped),
           bench::text(f.loss, 5),
           giga(f.formula_bytes),
           giga(f.planned_bytes),
           giga(f.built_bytes),
           giga(f.driver_bytes),
           giga(here.net.bytes())});
  out.write(here.with.json);
}

template <class Stage>
void measure(bench_state& here, bench::table* out, bool together) {
  int const ranks = together ? here.world.size() : 1;
  try {
    auto const f = train<Stage>(here,
                                together ? here.world.duplicate() : alone(here),
                                here.with.chosen.shape,
                                here.with.turns);
    if (out != nullptr) {
      print(*out, here, Stage::value, ranks, f);
    }
  } catch (zero::out_of_memory const& error) {  // alike on all ranks
    if (out != nullptr) {
      std::printf("stage %d on %d GPUs does not fit: %.120s\n", Stage::value, ranks, error.what());
      std::fflush(stdout);
    }
  }
}

int run(settings const& with) {
  bench_state here(with);
  std::optional<bench::table> out;
  if (here.world.rank() == 0) {
    out.emplace(std::vector<std::pair<std::string, int>>{{"stage", 6},
                                                         {"ranks", 6},
                                                         {"parameters", 12},
                                                         {"tokens_s_gpu", 13},
                                                         {"ms", 9},
                                                         {"ms_min", 9},
                                                         {"ms_max", 9},
                                                         {"fastest_gpu_ms", 15},
                                                         {"quiet_ms", 9},
                                                         {"added", 9},
                                                         {"added_min", 12},
                                                         {"added_max", 12},
                                                         {"exposed", 8},
                                                         {"slower_clock", 13},
                                                         {"skipped", 8},
                                                         {"loss", 10},
                                                         {"formula_GB", 12},
                                                         {"planned_GB", 12},
                                                         {"built_GB", 10},
                                                         {"driver_GB", 11},
                                                         {"activations_GB", 16}});
    std::printf("attention: %s\n", here.net.attention_name().c_str());
  }
  {
    // The libraries load the kernels of these sizes, which must not count as the engines' memory.
    auto shape = with.chosen.shape;
    shape.layers = 1;
    static_cast<void>(train<zero::Stage<0>>(here, alone(here), shape, 0));
  }
  bench::for_stages([&]<class Stage>() {
    if (with.stages.find(static_cast<char>('0' + Stage::value)) != std::string::npos) {
      measure<Stage>(here, out ? &*out : nullptr, false);
      if (here.world.size() > 1) {
        measure<Stage>(here, out ? &*out : nullptr, true);
      }
    }
  });
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
