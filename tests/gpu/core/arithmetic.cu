// SPDX-License-Identifier: Apache-2.0
#include <zero/core/arithmetic.hpp>

#include "tests/numerics/flags.hpp"

#include <zero/core/float_environment.hpp>
#include <zero/optim/adamw.hpp>
#include <zero/optim/lion.hpp>
#include <zero/optim/sgd.hpp>

#include <doctest/doctest.h>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>

// The same cases on host and GPU, to the bit. Compile this file with --use_fast_math as well.

namespace {

struct free_memory {
  void operator()(void* memory) const { cudaFree(memory); }
};

template <class T>
using managed = std::unique_ptr<T[], free_memory>;

template <class T>
managed<T> allocate(std::int64_t n) {
  void* memory = nullptr;
  REQUIRE(cudaMallocManaged(&memory, sizeof(T) * static_cast<std::size_t>(n)) == cudaSuccess);
  return managed<T>(static_cast<T*>(memory));
}

void wait() {
  REQUIRE(cudaGetLastError() == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
}

constexpr int threads = 256;
constexpr int blocks = static_cast<int>(flags::elements / threads);

struct each_primitive {
  ZERO_HOST_DEVICE std::uint64_t operator()(std::int64_t i) const { return flags::primitives(i); }
};

struct each_norm {
  ZERO_HOST_DEVICE std::uint64_t operator()(std::int64_t i) const { return flags::norm(i); }
};

struct each_decision {
  ZERO_HOST_DEVICE std::uint64_t operator()(std::int64_t i) const { return flags::decision(i); }
};

template <class F>
__global__ void run(F f, std::uint64_t* results) {
  std::int64_t const i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  results[i] = f(i);
}

__global__ void fill(flags::buffers buffers) {
  flags::fill(buffers, std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x);
}

template <class O>
__global__ void update(flags::buffers buffers, std::int64_t step) {
  typename O::scalars const scalars = O::prepare(typename O::options{}, 1e-2, 1, step);
  flags::update<O>(buffers, std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x, scalars);
}

struct memory {
  managed<float> w = allocate<float>(flags::elements);
  managed<float> g = allocate<float>(flags::elements);
  managed<float> m0 = allocate<float>(flags::elements);
  managed<float> m1 = allocate<float>(flags::elements);

  [[nodiscard]] flags::buffers buffers() const { return {w.get(), g.get(), {m0.get(), m1.get()}}; }
};

}  // namespace

TEST_CASE_TEMPLATE(
    "each case gives the same bits on host and GPU", F, each_primitive, each_norm, each_decision) {
  managed<std::uint64_t> const results = allocate<std::uint64_t>(flags::elements);
  run<<<blocks, threads>>>(F{}, results.get());
  wait();
  zero::exact_float_environment const environment;
  std::int64_t different = 0;
  for (std::int64_t i = 0; i < flags::elements; ++i) {
    different += results[static_cast<std::size_t>(i)] != F{}(i) ? 1 : 0;
  }
  CHECK(different == 0);
}

TEST_CASE_TEMPLATE("each optimizer gives the same bits on host and GPU",
                   O,
                   zero::AdamW,
                   zero::Sgd,
                   zero::PlainSgd,
                   zero::Lion,
                   flags::plain_user) {
  memory const device;
  fill<<<blocks, threads>>>(device.buffers());
  for (int step = 1; step <= flags::steps; ++step) {
    update<O><<<blocks, threads>>>(device.buffers(), step);
  }
  wait();
  zero::exact_float_environment const environment;
  memory const host;
  std::int64_t different = 0;
  for (std::int64_t i = 0; i < flags::elements; ++i) {
    flags::fill(host.buffers(), i);
    for (int step = 1; step <= flags::steps; ++step) {
      flags::update<O>(host.buffers(), i, O::prepare(typename O::options{}, 1e-2, 1, step));
    }
    different += flags::hash(host.buffers(), i) != flags::hash(device.buffers(), i) ? 1 : 0;
  }
  CHECK(different == 0);
}
