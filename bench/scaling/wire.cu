// SPDX-License-Identifier: Apache-2.0
// Bytes that a rank sends in a step, counted by the communicator, over the closed form of the
// stage: 1 for every stage, with 1 and 3 micro-steps.
//
// Every rank is a process; all of them run this program:
//   tests/gpu/run_processes --gpu-each 2 wire [--json wire.json]
//
// With Psi elements in units without padding or residents, p = 2 bytes a parameter, g = 4 an
// accumulator, w = p, or g with several micro-steps in stages 0 and 1, f = (N - 1) / N and k
// micro-steps: f (w + g) Psi, f (w + p) Psi, f (p k + p) Psi, f p k (3 Psi - U), where U is the
// last unit, whose forward and backward visits are one; and 8 (N - 1) bytes of the step's
// agreement.
#include "bench/support/synthetic.cuh"

#include <zero/comm/nccl/nccl.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>

namespace {

constexpr int units = 24;
constexpr std::int64_t granules = 8192;  // of 256 elements, a unit and rank

struct bytes {
  double counted = 0;
  double formula = 0;
};

template <class Stage>
[[nodiscard]] double formula(int ranks, std::int64_t k, double unit) {
  double const f = (ranks - 1.0) / ranks;
  double const psi = units * unit;
  double const wire = k == 1 ? 2 : 4;
  double const micro_steps = static_cast<double>(k);
  double const agreement = 8.0 * (ranks - 1);
  switch (Stage::value) {
    case 0:
      return f * (wire + 4) * psi + agreement;
    case 1:
      return f * (wire + 2) * psi + agreement;
    case 2:
      return f * (2 * micro_steps + 2) * psi + agreement;
    default:
      return f * 2 * micro_steps * (3 * psi - unit) + agreement;
  }
}

template <class Stage>
[[nodiscard]] bytes measure(zero::nccl_communicator& world, std::int64_t k) {
  using Engine = zero::ZeroEngine<bench::Units, Stage, zero::Nccl, zero::Cuda>;
  std::int64_t const elements = granules * 256 * world.size();
  zero::gpu::stream const stream(zero::gpu::stream_priority::normal);
  typename Engine::options options;
  options.schedule.residency_bytes = 0;
  Engine engine(bench::equal_units(units, elements),
                world.duplicate(),
                options,
                zero::cuda_options{.compute_stream = stream.get()});
  auto const sent_after_step = [&] {
    bench::passes(engine, units, k, [](int, auto&) {}, [](int, auto& lease) { lease.grads(); });
    engine.step();
    static_cast<void>(engine.result());  // waits for all that was enqueued
    return engine.traffic().total().bytes;
  };
  auto const first = sent_after_step();
  auto const second = sent_after_step();  // with the publish of the first
  return {static_cast<double>(second - first),
          formula<Stage>(world.size(), k, static_cast<double>(elements))};
}

int run(std::string const& file) {
  auto world = zero::Nccl::from_environment();
  zero::check_cuda(cudaSetDevice(world.device()), "cudaSetDevice");
  std::optional<bench::table> out;
  if (world.rank() == 0) {
    out.emplace(std::vector<std::pair<std::string, int>>{{"stage", 6},
                                                         {"ranks", 7},
                                                         {"micro_steps", 13},
                                                         {"counted_bytes", 16},
                                                         {"formula_bytes", 16},
                                                         {"ratio", 12},
                                                         {"bar", 8}});
  }
  bool good = true;
  for (std::int64_t const k : {1, 3}) {
    bench::for_stages([&]<class Stage>() {
      bytes const b = measure<Stage>(world, k);
      bool const met = b.counted == b.formula;
      good = good && met;
      if (out) {
        out->row({std::to_string(Stage::value),
                  std::to_string(world.size()),
                  std::to_string(k),
                  bench::text(b.counted, 0),
                  bench::text(b.formula, 0),
                  bench::text(b.formula > 0 ? b.counted / b.formula : 1, 9),
                  met ? "met" : "MISSED"});
      }
    });
  }
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
    std::fprintf(stderr, "wire: %s\n", error.what());
    return 1;
  }
}
