// SPDX-License-Identifier: Apache-2.0
// How much communication shows. Compute and communication are one-block kernels that take a given
// time (forward visit 1, backward visit 2, each collective 0.8 milliseconds), 48 equal units, 4
// ranks of which one exists: its communicator only takes time. Exposed is the time of a step less
// that of its compute, over the time of the step; the first gather and the last exchange cannot
// hide, which leaves 0.011.
#include "bench/support/synthetic.cuh"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace overlap {

__global__ void busy_kernel(std::int64_t nanoseconds) {
  std::uint64_t begin = 0;
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (static_cast<std::int64_t>(now - begin) < nanoseconds);
}

void busy(cudaStream_t stream, double milliseconds) {
  busy_kernel<<<1, 1, 0, stream>>>(static_cast<std::int64_t>(milliseconds * 1e6));
  zero::check_cuda(cudaGetLastError(), "busy_kernel");
}

/// Rank 0 of `size` ranks whose others do not exist: large collectives take a given time and move
/// nothing. The small ones of construction and of the step's agreement copy this rank's part to all
/// places.
class timed_communicator {
 public:
  using stream_type = cudaStream_t;

  timed_communicator(int size, double milliseconds)
      : size_(size),
        milliseconds_(milliseconds) {}

  [[nodiscard]] int rank() const noexcept { return 0; }

  [[nodiscard]] int size() const noexcept { return size_; }

  void all_gather(cudaStream_t stream,
                  zero::collective_tag const&,
                  void const* send,
                  void* receive,
                  std::int64_t bytes) {
    if (bytes > 4096) {
      busy(stream, milliseconds_);
      return;
    }
    for (int i = 0; i < size_; ++i) {
      if (auto* const to = static_cast<char*>(receive) + i * bytes; to != send) {
        zero::gpu_kernels::copy(stream, to, send, bytes);
      }
    }
  }

  void all_to_others(cudaStream_t stream,
                     zero::collective_tag const&,
                     void const*,
                     std::int64_t,
                     void*,
                     std::int64_t) {
    busy(stream, milliseconds_);
  }

  void reduce_scatter(
      cudaStream_t stream, zero::collective_tag const&, void*, std::int64_t, zero::dtype, double) {
    busy(stream, milliseconds_);
  }

  void all_reduce(cudaStream_t, zero::collective_tag const&, void*, std::int64_t, zero::dtype) {}

  void broadcast(cudaStream_t, zero::collective_tag const&, void*, std::int64_t, int) {}

  void begin_group() {}

  void end_group() {}

  void abort(std::string) noexcept {}

  void leave() noexcept {}

  void check() const {}

  [[nodiscard]] zero::traffic counters() const { return {}; }

 private:
  int size_;
  double milliseconds_;
};

static_assert(zero::communicator<timed_communicator>);

struct Timed {
  using policy_category = zero::communicator_category;
  template <class Device>
  using communicator = timed_communicator;
};

constexpr int units = 48;

template <class Stage>
double exposed(double unit_ms, int rounds) {
  using Engine = zero::ZeroEngine<bench::Units, Stage, zero::Cuda, Timed>;
  zero::gpu::stream const stream(zero::gpu::stream_priority::normal);
  Engine engine(bench::equal_units(units, 65'536),
                timed_communicator(4, 0.8 * unit_ms),
                {},
                zero::cuda_options{.compute_stream = stream.get()});
  zero::gpu::event const begin(zero::gpu::event_timing::on);
  zero::gpu::event const end(zero::gpu::event_timing::on);
  auto step = [&](double forward_ms, double backward_ms) {
    bench::passes(
        engine,
        units,
        1,
        [&](int, auto&) { busy(stream.get(), forward_ms); },
        [&](int, auto& lease) {
          static_cast<void>(lease.grads(zero::overwrite));
          busy(stream.get(), backward_ms);
        });
    engine.step();
  };
  std::vector<double> parts;
  step(unit_ms, 2 * unit_ms);
  static_cast<void>(engine.result());
  for (int r = 0; r < rounds; ++r) {
    zero::check_cuda(cudaEventRecord(begin.get(), stream.get()), "cudaEventRecord");
    step(unit_ms, 2 * unit_ms);
    zero::check_cuda(cudaEventRecord(end.get(), stream.get()), "cudaEventRecord");
    zero::check_cuda(cudaEventSynchronize(end.get()), "cudaEventSynchronize");
    float total = 0;
    zero::check_cuda(cudaEventElapsedTime(&total, begin.get(), end.get()), "cudaEventElapsedTime");
    parts.push_back((total - 3 * units * unit_ms) / total);
  }
  std::sort(parts.begin(), parts.end());
  return parts[parts.size() / 2];
}

}  // namespace overlap

int main(int argc, char** argv) {
  using namespace overlap;
  auto const file = bench::json_file(argc, argv);
  bench::table out({{"stage", 6}, {"units", 7}, {"unit_ms", 9}, {"exposed", 10}, {"bar", 8}});
  bool good = true;
  auto const row = [&]<class Stage>() {
    double const part = exposed<Stage>(1.0, 7);
    good = good && part <= 0.02;
    out.row({std::to_string(Stage::value),
             std::to_string(units),
             "1.0",
             bench::text(part, 4),
             part <= 0.02 ? "met" : "MISSED"});
  };
  row.template operator()<zero::Stage<2>>();
  row.template operator()<zero::Stage<3>>();
  out.write(file);
  return good ? 0 : 1;
}
