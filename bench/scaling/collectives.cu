// SPDX-License-Identifier: Apache-2.0
// Bus bandwidth of our collectives over NCCL's own, in one run and on one communicator.
//
// Every rank is a process; all of them run this program:
//   tests/gpu/run_processes --gpu-each 8 collectives --json collectives.json
//   torchrun --no-python --nproc-per-node 8 collectives
// Options: --from MiB (2), --to MiB (256): bytes of the whole buffer, doubled each time
//          --rounds N (9): ours and NCCL's alternate; the median of each is taken
//          --registration none|buffer|symmetric|peers (none: the plain path)
//          --peer-reading MiB (as the library has it): nccl_options::peer_reading_bytes
//          --json FILE: the table once more
// Formulas of nccl-tests: bus bandwidth = bytes of the whole buffer / seconds * (n - 1) / n, for
// all-gather, reduce-scatter and all-to-all alike. The time is that of the slowest rank. Ours, in
// the lines about the exchange, leaves each rank's own chunk where it is; NCCL's all-to-all moves
// it too, as nccl-tests' does.
#include "bench/support/nccl_settings.hpp"

#include <zero/comm/nccl/nccl.hpp>
#include <zero/cuda.cuh>

#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct settings {
  std::int64_t from = std::int64_t{2} << 20;
  std::int64_t to = std::int64_t{256} << 20;
  int rounds = 9;
  zero::nccl_registration registration = zero::nccl_registration::none;
  std::int64_t peer_reading = zero::nccl_options{}.peer_reading_bytes;
  std::string registration_name = "none";
  std::string json;
};

settings parse(int argc, char** argv) {
  settings result;
  for (int i = 1; i < argc; ++i) {
    std::string const name = argv[i];
    if (i + 1 == argc) {
      throw std::runtime_error(name + " needs a value");
    }
    std::string const value = argv[++i];
    if (name == "--from") {
      result.from = std::stoll(value) << 20;
    } else if (name == "--to") {
      result.to = std::stoll(value) << 20;
    } else if (name == "--rounds") {
      result.rounds = std::stoi(value);
    } else if (name == "--peer-reading") {
      result.peer_reading = std::stoll(value) << 20;
    } else if (name == "--json") {
      result.json = value;
    } else if (name == "--registration") {
      result.registration = bench::registration_named(value);
      result.registration_name = value;
    } else {
      throw std::runtime_error("unknown option " + name + " " + value);
    }
  }
  return result;
}

/// One line of the table.
struct row {
  char const* operation;
  std::int64_t bytes;
  double ours;   // GB/s on the bus
  double nccls;  // GB/s on the bus
};

class collectives_bench {
 public:
  explicit collectives_bench(settings const& options)
      : options_(options),
        comm_(zero::Nccl::from_environment({.registration = options.registration,
                                            .peer_reading_bytes = options.peer_reading,
                                            .warm_up_bytes = options.to})),
        guard_(comm_.device()),
        stream_(zero::gpu::stream_priority::greatest),
        begin_(zero::gpu::event_timing::on),
        end_(zero::gpu::event_timing::on),
        first_(options.to, "first", bench::allocator_for(options.registration)),
        second_(options.to, "second", bench::allocator_for(options.registration)),
        sums_(options.to / comm_.size() * 2 + 256, "sums"),
        times_(comm_.size() * static_cast<std::int64_t>(sizeof(float)), "times") {
    for (zero::gpu::memory const* buffer : {&first_, &second_}) {
      comm_.register_memory(buffer->get(), buffer->size());
      zero::check_cuda(cudaMemset(buffer->get(), 0, static_cast<std::size_t>(buffer->size())),
                       "cudaMemset");
    }
  }

  ~collectives_bench() {
    comm_.deregister_memory(first_.get());
    comm_.deregister_memory(second_.get());
  }

  collectives_bench(collectives_bench const&) = delete;
  collectives_bench& operator=(collectives_bench const&) = delete;

  void run() {
    int const n = comm_.size();
    if (comm_.rank() == 0) {
      std::printf("%d ranks, NCCL %d, registration %s\n",
                  n,
                  zero::nccl_library_version(),
                  options_.registration_name.c_str());
      std::printf(
          "%-22s %9s %12s %12s %8s\n", "operation", "MiB", "ours GB/s", "NCCL GB/s", "ratio");
    }
    for (std::int64_t bytes = options_.from; bytes <= options_.to; bytes *= 2) {
      measure_size(bytes / n / 512 * 512);
    }
    if (comm_.rank() == 0 && !options_.json.empty()) {
      write_json();
    }
  }

 private:
  void measure_size(std::int64_t shard) {
    auto* const first = static_cast<char*>(first_.get());
    auto* const second = static_cast<char*>(second_.get());
    auto* const own = first + comm_.rank() * shard;
    auto const count = static_cast<std::size_t>(shard);
    cudaStream_t const s = stream_.get();
    ncclComm_t const nccl = comm_.handle();
    std::int64_t const elements = shard / 2;

    auto const our_gather = [&] { comm_.all_gather(s, next(), own, first, shard); };
    auto const our_scatter = [&] {
      comm_.reduce_scatter(s, next(), first, elements, zero::dtype::bf16, 1);
    };
    auto const our_exchange = [&] { comm_.all_to_others(s, next(), first, shard, second, shard); };
    auto const our_ordered = [&] {
      our_exchange();
      zero::gpu_kernels::sum<zero::bf16, float>(s,
                                                reinterpret_cast<zero::bf16 const*>(own),
                                                reinterpret_cast<zero::bf16 const*>(second),
                                                elements,
                                                comm_.rank(),
                                                comm_.size(),
                                                static_cast<float*>(sums_.get()),
                                                elements,
                                                false,
                                                nullptr);
    };
    auto const our_pieces = [&] { exchange_in_pieces(first, second, elements); };
    auto const their_gather = [&] {
      zero::check_nccl(ncclAllGather(own, first, count, ncclUint8, nccl, s), "ncclAllGather");
    };
    auto const their_scatter = [&] {
      zero::check_nccl(ncclReduceScatter(first, own, count / 2, ncclBfloat16, ncclSum, nccl, s),
                       "ncclReduceScatter");
    };
    auto const their_exchange = [&] {  // as nccl-tests' alltoall_perf
      zero::check_nccl(ncclGroupStart(), "ncclGroupStart");
      for (int i = 0; i < comm_.size(); ++i) {
        zero::check_nccl(ncclSend(first + i * shard, count, ncclUint8, i, nccl, s), "ncclSend");
        zero::check_nccl(ncclRecv(second + i * shard, count, ncclUint8, i, nccl, s), "ncclRecv");
      }
      zero::check_nccl(ncclGroupEnd(), "ncclGroupEnd");
    };

    compare("all_gather", shard, our_gather, their_gather);
    compare("reduce_scatter", shard, our_scatter, their_scatter);
    compare("exchange", shard, our_exchange, their_exchange);
    compare("exchange + FP32 sum", shard, our_ordered, their_exchange);
    compare("the same in pieces", shard, our_pieces, their_exchange);
    compare("Ordered over Native", shard, our_pieces, our_scatter);
  }

  /// The ordered reduction as an engine makes it: pieces of 32 MiB, the others' parts, arrive in
  /// two buffers in turn, and each is summed on another stream while the next one travels; or the
  /// sum reads them where they lie.
  void exchange_in_pieces(char const* first, char* second, std::int64_t elements) {
    int const n = comm_.size();
    std::int64_t const others = std::max(n - 1, 1);
    std::int64_t const most = (std::int64_t{32} << 20) / (2 * others) / 2048 * 2048;
    char const* const own = first + comm_.rank() * elements * 2;
    bool const in_place = comm_.reads_others(own, elements * 2);
    cudaStream_t const s = stream_.get();
    arrived_[0].record(s);
    arrived_[0].make_wait(sum_stream_.get());  // what the call before has left
    std::int64_t turn = 0;
    for (std::int64_t at = 0; at < elements; at += most, ++turn) {
      std::int64_t const count = std::min(most, elements - at);
      auto const half = static_cast<std::size_t>(turn % 2);
      char* const to = second + turn % 2 * most * 2 * others;
      if (in_place) {
        comm_.read_others(
            sum_stream_.get(), next(), own + at * 2, count * 2, at > 0, [&](auto const& reading) {
              zero::gpu_kernels::sum_of_peers<zero::bf16, float>(
                  sum_stream_.get(),
                  reading,
                  static_cast<float*>(sums_.get()) + at,
                  count,
                  false,
                  nullptr);
            });
        summed_[half].record(sum_stream_.get());
        continue;
      }
      if (turn > 1) {
        summed_[half].make_wait(s);
      }
      comm_.all_to_others(s, next(), first + at * 2, elements * 2, to, count * 2);
      arrived_[half].record(s);
      arrived_[half].make_wait(sum_stream_.get());
      zero::gpu_kernels::sum<zero::bf16, float>(sum_stream_.get(),
                                                reinterpret_cast<zero::bf16 const*>(own + at * 2),
                                                reinterpret_cast<zero::bf16 const*>(to),
                                                count,
                                                comm_.rank(),
                                                n,
                                                static_cast<float*>(sums_.get()) + at,
                                                count,
                                                false,
                                                nullptr);
      summed_[half].record(sum_stream_.get());
    }
    summed_[static_cast<std::size_t>((turn + 1) % 2)].make_wait(s);
  }

  void compare(char const* operation,
               std::int64_t shard,
               std::function<void()> const& ours,
               std::function<void()> const& theirs) {
    // About 20 ms a measurement at 300 GB/s, and no fewer than 5 calls.
    std::int64_t const bytes = shard * comm_.size();
    int const calls = static_cast<int>(std::clamp<std::int64_t>(6'000'000'000 / bytes, 5, 200));
    std::vector<double> ours_ms;
    std::vector<double> theirs_ms;
    for (int round = -1; round < options_.rounds; ++round) {  // the first one only warms up
      double const a = milliseconds(ours, calls);
      double const b = milliseconds(theirs, calls);
      if (round >= 0) {
        ours_ms.push_back(a);
        theirs_ms.push_back(b);
      }
    }
    auto const rate = [&](std::vector<double>& values) {
      std::ranges::nth_element(values, values.begin() + values.size() / 2);
      double const n = comm_.size();
      return static_cast<double>(bytes) / (values[values.size() / 2] * 1e6) *
             (comm_.size() > 1 ? (n - 1) / n : 1.0);
    };
    row const result{operation, bytes, rate(ours_ms), rate(theirs_ms)};
    rows_.push_back(result);
    if (comm_.rank() == 0) {
      std::printf("%-22s %9.1f %12.2f %12.2f %8.3f\n",
                  operation,
                  static_cast<double>(bytes) / (1 << 20),
                  result.ours,
                  result.nccls,
                  result.ours / result.nccls);
      std::fflush(stdout);
    }
  }

  /// Milliseconds of one call, of the slowest rank.
  double milliseconds(std::function<void()> const& call, int calls) {
    auto* const all = static_cast<float*>(times_.get());
    cudaStream_t const s = stream_.get();
    comm_.all_reduce(s, next(), all, comm_.size(), zero::dtype::fp32);  // all begin together
    begin_.record(s);
    for (int i = 0; i < calls; ++i) {
      call();
    }
    end_.record(s);
    end_.synchronize();
    comm_.check();
    float const mine = zero::gpu::milliseconds_between(begin_, end_) / static_cast<float>(calls);
    zero::check_cuda(
        cudaMemcpyAsync(all + comm_.rank(), &mine, sizeof mine, cudaMemcpyHostToDevice, s),
        "cudaMemcpyAsync");
    comm_.all_gather(s, next(), all + comm_.rank(), all, sizeof mine);
    std::vector<float> ranks(static_cast<std::size_t>(comm_.size()));
    zero::check_cuda(
        cudaMemcpyAsync(ranks.data(), all, ranks.size() * sizeof(float), cudaMemcpyDeviceToHost, s),
        "cudaMemcpyAsync");
    zero::check_cuda(cudaStreamSynchronize(s), "cudaStreamSynchronize");
    return *std::ranges::max_element(ranks);
  }

  zero::collective_tag next() {
    ++tag_.sequence;
    return tag_;
  }

  void write_json() const {
    std::ofstream out(options_.json);
    out << "{\"ranks\": " << comm_.size() << ", \"nccl\": " << zero::nccl_library_version()
        << ", \"registration\": \"" << options_.registration_name << "\", \"rows\": [";
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      out << (i == 0 ? "\n" : ",\n") << "  {\"operation\": \"" << rows_[i].operation
          << "\", \"bytes\": " << rows_[i].bytes << ", \"ours_gb_s\": " << rows_[i].ours
          << ", \"nccl_gb_s\": " << rows_[i].nccls
          << ", \"ratio\": " << rows_[i].ours / rows_[i].nccls << "}";
    }
    out << "\n]}\n";
    if (!out) {
      throw std::runtime_error("cannot write " + options_.json);
    }
  }

  settings options_;
  zero::nccl_communicator comm_;
  zero::gpu::device_guard guard_;
  zero::gpu::stream stream_;
  zero::gpu::stream sum_stream_{zero::gpu::stream_priority::normal};
  std::array<zero::gpu::event, 2> arrived_{zero::gpu::event(zero::gpu::event_timing::off),
                                           zero::gpu::event(zero::gpu::event_timing::off)};
  std::array<zero::gpu::event, 2> summed_{zero::gpu::event(zero::gpu::event_timing::off),
                                          zero::gpu::event(zero::gpu::event_timing::off)};
  zero::gpu::event begin_;
  zero::gpu::event end_;
  zero::gpu::memory first_;
  zero::gpu::memory second_;
  zero::gpu::memory sums_;
  zero::gpu::memory times_;
  zero::collective_tag tag_{.operation_name = "bench"};
  std::vector<row> rows_;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    collectives_bench(parse(argc, argv)).run();
  } catch (std::exception const& error) {
    std::fprintf(stderr, "collectives: %s\n", error.what());
    return 1;
  }
  return 0;
}
