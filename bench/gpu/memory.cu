// SPDX-License-Identifier: Apache-2.0
// What the driver gives to an engine against the closed form: stages 0 to 3 with 1, 2 and 4 local
// ranks on one GPU, 1e9 parameters in all. The driver's bytes are those that are free before the
// engines exist (context made, kernels loaded, streams of the ranks made) less those that are free
// after a step; what was used before is shown.
#include <memory>

#include "bench/support/synthetic.cuh"

#include <barrier>
#include <cstdint>
#include <string>

namespace {

constexpr int units = 25;
constexpr std::int64_t elements = 40'000'000;

[[nodiscard]] std::int64_t free_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  zero::check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return static_cast<std::int64_t>(free);
}

template <class Engine>
void train_a_step(Engine& engine, int count) {
  bench::passes(engine, count, 1, [](int, auto&) {}, [](int, auto& lease) { lease.grads(); });
  engine.step();
  static_cast<void>(engine.result());
}

struct bytes {
  std::int64_t before = 0;
  std::int64_t taken = 0;
  std::int64_t formula = 0;
  std::int64_t planned = 0;
};

template <class Stage>
bytes measure(int ranks, int count, std::int64_t size) {
  using Engine = zero::ZeroEngine<bench::Units, Stage, zero::Cuda>;
  bytes out;
  std::barrier meet(ranks);
  zero::local_gpu_world::run(ranks, [&](auto communicator) {
    bool const first = communicator.rank() == 0;
    zero::gpu::stream const stream(zero::gpu::stream_priority::normal);
    zero::check_cuda(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
    meet.arrive_and_wait();
    std::int64_t const before = free_bytes();
    meet.arrive_and_wait();
    Engine engine(bench::equal_units(count, size),
                  std::move(communicator),
                  {},
                  zero::cuda_options{.compute_stream = stream.get()});
    train_a_step(engine, count);
    meet.arrive_and_wait();
    if (first) {
      out = {before,
             before - free_bytes(),
             engine.formula_bytes() * ranks,
             engine.plan().device_bytes() * ranks};
    }
    meet.arrive_and_wait();
  });
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  auto const file = bench::json_file(argc, argv);
  zero::check_cuda(cudaSetDevice(0), "cudaSetDevice");
  std::size_t free = 0;
  std::size_t total = 0;
  zero::check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  bench::for_stages([]<class Stage>() { static_cast<void>(measure<Stage>(2, 2, 100'000)); });
  std::printf("%lld parameters in %d units; %.1f MiB used by context and kernels before\n\n",
              static_cast<long long>(units * elements),
              units,
              static_cast<double>(static_cast<std::int64_t>(total) - free_bytes()) / 1048576.0);
  bench::table out({{"stage", 6},
                    {"ranks", 7},
                    {"formula_bytes", 16},
                    {"planned_bytes", 16},
                    {"driver_bytes", 16},
                    {"ratio", 9},
                    {"excess_MiB_a_rank", 19},
                    {"bar", 6}});
  bool good = true;
  for (int const ranks : {1, 2, 4}) {
    bench::for_stages([&]<class Stage>() {
      auto const b = measure<Stage>(ranks, units, elements);
      double const ratio = static_cast<double>(b.taken) / static_cast<double>(b.formula);
      double const excess = static_cast<double>(b.taken - b.formula) / 1048576.0 / ranks;
      bool const met = ratio <= 1.001 || excess <= 16;
      good = good && met;
      out.row({std::to_string(Stage::value),
               std::to_string(ranks),
               std::to_string(b.formula),
               std::to_string(b.planned),
               std::to_string(b.taken),
               bench::text(ratio, 5),
               bench::text(excess, 2),
               met ? "met" : "MISSED"});
    });
  }
  out.write(file);
  return good ? 0 : 1;
}
