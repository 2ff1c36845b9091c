// SPDX-License-Identifier: Apache-2.0
// How much a matrix product slows down under a stage-3 gather, which NCCL makes by kernels on the
// multiprocessors or by copy engines.
//
// Every rank is a process; all of them run this program:
//   tests/gpu/run_processes --gpu-each 2 contention [--json contention.json]
//
// Products of 8192 x 8192 bf16 matrices run on one stream, gathers of a unit of 100e6 bf16
// parameters on another of the greatest priority, one after the other without a pause: the most
// that a prefetch can disturb. `slow_down` is the time of the products over theirs alone, of the
// slowest rank; `gather_GB_s` the bus bandwidth of the gathers meanwhile. The time that a gather
// takes from compute is (slow_down - 1) times its own; `cost_us` says it. Run with NCCL_DEBUG=INFO
// to read in the log which policy a communicator has.
#include "bench/support/nccl_settings.hpp"
#include "bench/support/synthetic.cuh"

#include <zero/comm/nccl/nccl.hpp>

#include <cublas_v2.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr int side = 8192;
constexpr int products = 24;
constexpr int rounds = 5;
constexpr std::int64_t unit_bytes = 200'000'000;

__global__ void fill_kernel(__nv_bfloat16* to, std::int64_t n, std::uint64_t key) {
  std::int64_t const step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < n;
       i += step) {
    to[i] = __float2bfloat16(zero::uniform(key, static_cast<std::uint64_t>(i)) - 0.5F);
  }
}

void check_cublas(cublasStatus_t status, char const* call) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw std::runtime_error(std::string(call) + ": " + cublasGetStatusString(status));
  }
}

/// out = a * b, on random data.
class product {
 public:
  explicit product(cudaStream_t stream)
      : stream_(stream),
        a_(bytes, "a"),
        b_(bytes, "b"),
        out_(bytes, "out"),
        workspace_(std::int64_t{64} << 20, "workspace") {
    check_cublas(cublasCreate(&handle_), "cublasCreate");
    check_cublas(cublasSetStream(handle_, stream), "cublasSetStream");
    check_cublas(
        cublasSetWorkspace(handle_, workspace_.get(), static_cast<std::size_t>(workspace_.size())),
        "cublasSetWorkspace");
    for (auto* const buffer : {&a_, &b_}) {
      fill_kernel<<<1024, 256, 0, stream>>>(
          static_cast<__nv_bfloat16*>(buffer->get()), std::int64_t{side} * side, buffer == &a_);
      zero::check_cuda(cudaGetLastError(), "fill_kernel");
    }
  }

  product(product const&) = delete;
  product& operator=(product const&) = delete;

  ~product() { cublasDestroy(handle_); }

  void enqueue() {
    float const one = 1;
    float const none = 0;
    check_cublas(cublasGemmEx(handle_,
                              CUBLAS_OP_N,
                              CUBLAS_OP_N,
                              side,
                              side,
                              side,
                              &one,
                              a_.get(),
                              CUDA_R_16BF,
                              side,
                              b_.get(),
                              CUDA_R_16BF,
                              side,
                              &none,
                              out_.get(),
                              CUDA_R_16BF,
                              side,
                              CUBLAS_COMPUTE_32F,
                              CUBLAS_GEMM_DEFAULT),
                 "cublasGemmEx");
  }

 private:
  static constexpr std::int64_t bytes = std::int64_t{2} * side * side;

  cudaStream_t stream_;
  zero::gpu::memory a_;
  zero::gpu::memory b_;
  zero::gpu::memory out_;
  zero::gpu::memory workspace_;
  cublasHandle_t handle_ = nullptr;
};

/// One way to gather.
struct variant {
  char const* name;
  zero::nccl_registration registration;
  zero::nccl_cta_policy policy;
  int max_ctas;
};

constexpr variant variants[] = {
    {"kernels", zero::nccl_registration::none, zero::nccl_cta_policy::library, -1},
    {"kernels, 8 blocks", zero::nccl_registration::none, zero::nccl_cta_policy::library, 8},
    {"kernels, symmetric", zero::nccl_registration::symmetric, zero::nccl_cta_policy::library, -1},
    {"efficiency policy",
     zero::nccl_registration::symmetric,
     zero::nccl_cta_policy::efficiency,
     -1},
    {"zero-CTA policy", zero::nccl_registration::symmetric, zero::nccl_cta_policy::zero, -1},
    {"copies of our own", zero::nccl_registration::peers, zero::nccl_cta_policy::library, -1},
};

struct figures {
  double alone_ms = 0;
  double together_ms = 0;
  double gather_alone_ms = 0;
  double gather_together_ms = 0;
  bool covered = true;  ///< gathers ran as long as the products
};

class bench_rank {
 public:
  explicit bench_rank(zero::nccl_communicator& world)
      : world_(world),
        compute_(zero::gpu::stream_priority::normal),
        gather_(zero::gpu::stream_priority::greatest),
        product_(compute_.get()),
        times_(world.size() * static_cast<std::int64_t>(sizeof(float)), "times") {}

  figures measure(variant const& v) {
    zero::nccl_options options;
    options.registration = v.registration;
    options.cta_policy = v.policy;
    options.max_ctas = v.max_ctas;
    options.split = true;
    auto comm = zero::Nccl::from_handle(world_.handle(), options);
    std::int64_t const shard = unit_bytes / comm.size() / 512 * 512;
    zero::gpu::memory buffer(shard * comm.size(), "unit", bench::allocator_for(v.registration));
    comm.register_memory(buffer.get(), buffer.size());
    auto* const whole = static_cast<char*>(buffer.get());
    zero::check_cuda(cudaMemset(whole, 1, static_cast<std::size_t>(buffer.size())), "cudaMemset");
    auto const gather = [&] {
      comm.all_gather(gather_.get(), next(), whole + comm.rank() * shard, whole, shard);
    };
    std::vector<double> alone;
    std::vector<double> together;
    std::vector<double> gather_alone;
    std::vector<double> gather_together;
    figures out;
    for (int round = -1; round < rounds; ++round) {
      double const product_ms = timed(compute_.get(), [&] {
        for (int i = 0; i < products; ++i) {
          product_.enqueue();
        }
      });
      double const gathers_ms = timed(gather_.get(), [&] {
        for (int i = 0; i < 20; ++i) {
          gather();
        }
      });
      // Enough gathers to outlast the products, alike on all ranks.
      int const count = static_cast<int>(3 * product_ms / (gathers_ms / 20)) + 4;
      meet();
      gather_begin_.record(gather_.get());
      for (int i = 0; i < 2; ++i) {
        gather();
      }
      running_.record(gather_.get());
      zero::check_cuda(cudaStreamWaitEvent(compute_.get(), running_.get(), 0),
                       "cudaStreamWaitEvent");
      begin_.record(compute_.get());
      for (int i = 0; i < products; ++i) {
        product_.enqueue();
      }
      end_.record(compute_.get());
      for (int i = 0; i < count; ++i) {
        gather();
      }
      gather_end_.record(gather_.get());
      gather_end_.synchronize();
      end_.synchronize();
      comm.check();
      double const both = slowest(zero::gpu::milliseconds_between(begin_, end_));
      double const gathers =
          slowest(zero::gpu::milliseconds_between(gather_begin_, gather_end_)) / (count + 2);
      double const tail = -slowest(-zero::gpu::milliseconds_between(end_, gather_end_));
      if (round >= 0) {
        out.covered = out.covered && tail > 0;
        alone.push_back(product_ms);
        together.push_back(both);
        gather_alone.push_back(gathers_ms / 20);
        gather_together.push_back(gathers);
      }
    }
    comm.deregister_memory(whole);
    out.alone_ms = median(alone);
    out.together_ms = median(together);
    out.gather_alone_ms = median(gather_alone);
    out.gather_together_ms = median(gather_together);
    return out;
  }

 private:
  static double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  }

  template <class Work>
  double timed(cudaStream_t stream, Work&& work) {
    meet();
    begin_.record(stream);
    work();
    end_.record(stream);
    end_.synchronize();
    return slowest(zero::gpu::milliseconds_between(begin_, end_));
  }

  void meet() { static_cast<void>(slowest(0)); }

  /// The largest of the ranks' values. Waits.
  double slowest(double value) {
    auto* const all = static_cast<float*>(times_.get());
    auto const mine = static_cast<float>(value);
    cudaStream_t const s = gather_.get();
    zero::check_cuda(
        cudaMemcpyAsync(all + world_.rank(), &mine, sizeof mine, cudaMemcpyHostToDevice, s),
        "cudaMemcpyAsync");
    world_.all_gather(s, next(), all + world_.rank(), all, sizeof mine);
    std::vector<float> ranks(static_cast<std::size_t>(world_.size()));
    zero::check_cuda(
        cudaMemcpyAsync(ranks.data(), all, ranks.size() * sizeof(float), cudaMemcpyDeviceToHost, s),
        "cudaMemcpyAsync");
    zero::check_cuda(cudaStreamSynchronize(s), "cudaStreamSynchronize");
    return *std::max_element(ranks.begin(), ranks.end());
  }

  zero::collective_tag next() {
    ++tag_.sequence;
    return tag_;
  }

  zero::nccl_communicator& world_;
  zero::gpu::stream compute_;
  zero::gpu::stream gather_;
  zero::gpu::event begin_{zero::gpu::event_timing::on};
  zero::gpu::event end_{zero::gpu::event_timing::on};
  zero::gpu::event running_{zero::gpu::event_timing::on};
  zero::gpu::event gather_begin_{zero::gpu::event_timing::on};
  zero::gpu::event gather_end_{zero::gpu::event_timing::on};
  product product_;
  zero::gpu::memory times_;
  zero::collective_tag tag_{.operation_name = "bench"};
};

int run(std::string const& file) {
  auto world = zero::Nccl::from_environment();
  zero::gpu::device_guard const guard(world.device());
  bench_rank rank(world);
  std::optional<bench::table> out;
  if (world.rank() == 0) {
    std::printf("NCCL %d, %d ranks\n", zero::nccl_library_version(), world.size());
    out.emplace(std::vector<std::pair<std::string, int>>{{"gather", 20},
                                                         {"product_ms", 12},
                                                         {"TFLOP_s", 9},
                                                         {"slow_down", 11},
                                                         {"gather_alone_GB_s", 19},
                                                         {"gather_GB_s", 13},
                                                         {"cost_us", 9},
                                                         {"covered", 9}});
  }
  for (variant const& v : variants) {
    figures f;
    try {
      f = rank.measure(v);
    } catch (zero::logic_error const& error) {  // the loaded NCCL is too old: on all ranks alike
      if (out) {
        std::printf("%20s  left out: %s\n", v.name, error.what());
      }
      continue;
    }
    if (out) {
      double const n = world.size();
      double const shard_bytes = static_cast<double>(unit_bytes) / n * (n - 1);
      double const slow_down = f.together_ms / f.alone_ms;
      out->row({v.name,
                bench::text(f.alone_ms / products, 4),
                bench::text(2e-9 * side * side * side / (f.alone_ms / products), 1),
                bench::text(slow_down, 4),
                bench::text(shard_bytes / f.gather_alone_ms * 1e-6, 1),
                bench::text(shard_bytes / f.gather_together_ms * 1e-6, 1),
                bench::text((slow_down - 1) * f.gather_together_ms * 1e3, 1),
                f.covered ? "yes" : "no"});
    }
  }
  if (out) {
    out->write(file);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(bench::json_file(argc, argv));
  } catch (std::exception const& error) {
    std::fprintf(stderr, "contention: %s\n", error.what());
    return 1;
  }
}
