// SPDX-License-Identifier: Apache-2.0
// What the user's thread does to the driver in 100 steps, every stage, 1 and 2 local ranks on one
// GPU: calls that allocate memory and calls that wait for the device (synchronise, blocking copies,
// queries), counted by CUPTI's callbacks of the runtime and the driver. Both must be 0.
#include "bench/support/synthetic.cuh"

#include <array>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstring>
#include <cupti.h>
#include <string>

namespace {

std::atomic<bool> counting{false};
std::atomic<std::int64_t> allocations{0};
std::atomic<std::int64_t> waits{0};
std::atomic<std::int64_t> calls{0};
std::atomic<char const*> example{nullptr};

void check_cupti(CUptiResult code, char const* call) {
  if (code != CUPTI_SUCCESS) {
    throw std::runtime_error(std::string(call) + " failed with " + std::to_string(code));
  }
}

[[nodiscard]] bool contains(char const* text, char const* word) {
  return std::strstr(text, word) != nullptr;
}

void CUPTIAPI on_call(void*,
                      CUpti_CallbackDomain,
                      CUpti_CallbackId,
                      CUpti_CallbackData const* data) {
  if (data->callbackSite != CUPTI_API_ENTER || !counting.load()) {
    return;
  }
  char const* const name = data->functionName;
  calls.fetch_add(1);
  bool const allocates = contains(name, "Malloc") || contains(name, "MemAlloc") ||
                         contains(name, "MemCreate") || contains(name, "HostAlloc") ||
                         contains(name, "HostRegister") || contains(name, "Free");
  // a copy without Async waits; so does everything that synchronises; queries are half of a polling
  // loop
  bool const waits_here = contains(name, "Synchronize") || contains(name, "Query") ||
                          (contains(name, "Memcpy") && !contains(name, "Async")) ||
                          (contains(name, "Memset") && !contains(name, "Async"));
  if (allocates || waits_here) {
    (allocates ? allocations : waits).fetch_add(1);
    example.store(name);
  }
}

struct counts {
  std::int64_t allocations = 0;
  std::int64_t waits = 0;
  std::int64_t calls = 0;
};

template <class Stage>
counts measure(int ranks, int steps) {
  using Engine = zero::ZeroEngine<bench::Units, Stage, zero::Cuda>;
  constexpr int units = 6;
  std::barrier meet(ranks);
  counts out;
  zero::local_gpu_world::run(ranks, [&](auto communicator) {
    bool const first = communicator.rank() == 0;
    zero::gpu::stream const stream(zero::gpu::stream_priority::normal);
    typename Engine::options options;
    options.clip_norm = 1;
    Engine engine(bench::equal_units(units, 500'000),
                  std::move(communicator),
                  options,
                  zero::cuda_options{.compute_stream = stream.get()});
    meet.arrive_and_wait();
    if (first) {
      allocations = 0;
      waits = 0;
      calls = 0;
      counting = true;
    }
    meet.arrive_and_wait();
    for (int s = 0; s < steps; ++s) {
      bench::passes(engine, units, 2, [](int, auto&) {}, [](int, auto& lease) { lease.grads(); });
      engine.step();
    }
    meet.arrive_and_wait();
    if (first) {
      counting = false;
      out = {allocations.load(), waits.load(), calls.load()};
    }
    meet.arrive_and_wait();
  });
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  auto const file = bench::json_file(argc, argv);
  CUpti_SubscriberHandle subscriber{};
  check_cupti(cuptiSubscribe(&subscriber, reinterpret_cast<CUpti_CallbackFunc>(on_call), nullptr),
              "cuptiSubscribe");
  check_cupti(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API), "cuptiEnableDomain");
  check_cupti(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API), "cuptiEnableDomain");
  {  // the counters see what they should
    counting = true;
    void* p = nullptr;
    zero::check_cuda(cudaMalloc(&p, 1024), "cudaMalloc");
    zero::check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    zero::check_cuda(cudaFree(p), "cudaFree");
    counting = false;
    if (allocations < 2 || waits < 1) {
      std::fprintf(stderr, "the counters do not count\n");
      return 1;
    }
  }
  bench::table out({{"stage", 6},
                    {"ranks", 7},
                    {"steps", 7},
                    {"calls", 10},
                    {"allocations", 13},
                    {"waits", 7},
                    {"example", 32}});
  bool good = true;
  for (int const ranks : {1, 2}) {
    bench::for_stages([&]<class Stage>() {
      example = nullptr;
      auto const c = measure<Stage>(ranks, 100);
      good = good && c.allocations == 0 && c.waits == 0 && c.calls > 0;
      char const* const name = example.load();
      out.row({std::to_string(Stage::value),
               std::to_string(ranks),
               "100",
               std::to_string(c.calls),
               std::to_string(c.allocations),
               std::to_string(c.waits),
               c.allocations + c.waits == 0 || name == nullptr ? "none" : name});
    });
  }
  out.write(file);
  return good ? 0 : 1;
}
