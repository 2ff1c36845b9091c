// SPDX-License-Identifier: Apache-2.0
// ZeRO's own table on real devices: bytes a rank for a model of 7.5e9 parameters, as a rule of 16
// bytes a parameter counts (bf16 parameters and gradients, 12 bytes of AdamW), as the plan says,
// and as the driver says: what is free before the engine exists less what is free after a step. The
// communicator's own buffers, the context and kernels are there before.
//
// Every rank is a process; all of them run this program:
//   tests/gpu/run_processes --gpu-each 2 memory [--json memory.json]
// A stage that does not fit the device is left out, and the table says so.
#include "bench/support/synthetic.cuh"

#include <zero/comm/nccl/nccl.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>

namespace {

constexpr int layers = 37;                                               // 36, and the embedding
constexpr std::int64_t layer_elements = std::int64_t{12} * 4096 * 4096;  // of width 4096

[[nodiscard]] std::int64_t free_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  zero::check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return static_cast<std::int64_t>(free);
}

/// The table's bytes a rank: 2 and 2 bytes and 12 of optimizer, divided as the stage says.
[[nodiscard]] std::int64_t rule_bytes(int stage, int ranks) {
  std::int64_t const psi = layers * layer_elements;
  return 2 * psi / (stage == 3 ? ranks : 1) + 2 * psi / (stage >= 2 ? ranks : 1) +
         12 * psi / (stage >= 1 ? ranks : 1);
}

struct bytes {
  std::int64_t rule = 0;
  std::int64_t formula = 0;
  std::int64_t planned = 0;
  std::int64_t driver = 0;
  bool fits = false;
};

template <class Stage>
[[nodiscard]] bytes measure(zero::nccl_communicator& world, int count, std::int64_t elements) {
  using Engine =
      zero::ZeroEngine<bench::Units, Stage, zero::Accumulate<zero::Native>, zero::Nccl, zero::Cuda>;
  zero::gpu::stream const stream(zero::gpu::stream_priority::normal);
  auto communicator = world.duplicate();
  bytes out{.rule = rule_bytes(Stage::value, world.size())};
  std::int64_t const before = free_bytes();
  // Slots and pieces need less than 2 GiB here. All ranks must decide alike.
  bool const here = count < layers || out.rule + (std::int64_t{2} << 30) < before;
  out.fits = here;
  if (!here) {
    return out;
  }
  Engine engine(bench::equal_units(count, elements),
                std::move(communicator),
                {},
                zero::cuda_options{.compute_stream = stream.get()});
  bench::passes(engine, count, 1, [](int, auto&) {}, [](int, auto& lease) { lease.grads(); });
  engine.step();
  static_cast<void>(engine.result());
  out.driver = before - free_bytes();
  out.formula = engine.formula_bytes();
  out.planned = engine.plan().device_bytes();
  return out;
}

int run(std::string const& file) {
  auto world = zero::Nccl::from_environment();
  zero::check_cuda(cudaSetDevice(world.device()), "cudaSetDevice");
  // Kernels are loaded by the first engine of a kind.
  bench::for_stages([&]<class Stage>() { static_cast<void>(measure<Stage>(world, 2, 100'000)); });
  std::optional<bench::table> out;
  if (world.rank() == 0) {
    std::printf("%lld parameters\n", static_cast<long long>(layers * layer_elements));
    out.emplace(std::vector<std::pair<std::string, int>>{{"stage", 6},
                                                         {"ranks", 7},
                                                         {"rule_GB", 10},
                                                         {"formula_GB", 12},
                                                         {"planned_bytes", 15},
                                                         {"driver_bytes", 15},
                                                         {"over_plan", 11},
                                                         {"excess_MiB", 12},
                                                         {"bar", 14}});
  }
  bool good = true;
  bench::for_stages([&]<class Stage>() {
    bytes const b = measure<Stage>(world, layers, layer_elements);
    double const ratio =
        b.fits ? static_cast<double>(b.driver) / static_cast<double>(b.planned) : 0;
    double const excess = static_cast<double>(b.driver - b.planned) / 1048576.0;
    bool const met = !b.fits || ratio <= 1.001 || excess <= 16;
    good = good && met;
    if (out) {
      out->row({std::to_string(Stage::value),
                std::to_string(world.size()),
                bench::text(static_cast<double>(b.rule) * 1e-9, 2),
                bench::text(static_cast<double>(b.formula) * 1e-9, 3),
                std::to_string(b.planned),
                std::to_string(b.driver),
                bench::text(ratio, 6),
                bench::text(excess, 2),
                !b.fits ? "does not fit" : (met ? "met" : "MISSED")});
    }
  });
  if (out) {
    out->write(file);
  }
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(bench::json_file(argc, argv));
  } catch (std::exception const& error) {
    std::fprintf(stderr, "memory: %s\n", error.what());
    return 1;
  }
}
