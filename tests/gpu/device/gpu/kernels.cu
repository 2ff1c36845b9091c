// SPDX-License-Identifier: Apache-2.0
#include <zero/device/gpu/kernels.cuh>

#include "tests/gpu/device/gpu/array.hpp"
#include "tests/laws/kernels.hpp"

#include <zero/core/error.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/device/gpu/memory.hpp>
#include <zero/optim/adamw.hpp>
#include <zero/optim/lion.hpp>
#include <zero/optim/sgd.hpp>

#include <doctest/doctest.h>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace zero::test {

namespace {

/// The memory of the laws: kept until the end, because kernels run later.
class law_memory {
 public:
  [[nodiscard]] static cudaStream_t stream() { return nullptr; }

  template <class T>
  [[nodiscard]] T* upload(std::vector<T> const& values) {
    auto const bytes = static_cast<std::int64_t>(values.size() * sizeof(T));
    kept_.emplace_back(bytes, "law");
    gpu_kernels::copy(stream(), kept_.back().get(), values.data(), bytes);
    return static_cast<T*>(kept_.back().get());
  }

  template <class T>
  [[nodiscard]] std::vector<T> download(T const* from, std::int64_t n) {
    std::vector<T> values(static_cast<std::size_t>(n));
    gpu_kernels::copy(stream(), values.data(), from, n * static_cast<std::int64_t>(sizeof(T)));
    check_cuda(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
    return values;
  }

 private:
  std::vector<gpu::memory> kept_;
};

}  // namespace

TEST_CASE("the kernels of a GPU obey the laws of kernels") {
  // One by one: nvcc 13.0 loses the designators of initialisers in templates, which the law of
  // decisions has. Decisions are compared with the host's in control.cu.
  law_memory memory;
  laws::bytes_law<gpu_kernels>(memory);
  laws::pair_laws<gpu_kernels, float>(memory);
  laws::pair_laws<gpu_kernels, bf16>(memory);
  laws::pair_laws<gpu_kernels, fp16>(memory);
  laws::squares_law<gpu_kernels, float>(memory);
  laws::squares_law<gpu_kernels, bf16>(memory);
  laws::squares_law<gpu_kernels, fp16>(memory);
  laws::nonfinite_law<gpu_kernels>(memory);
  laws::reduce_partials_law<gpu_kernels>(memory);
  laws::update_law<gpu_kernels, PlainSgd, bf16, float>(memory);
  laws::update_law<gpu_kernels, Sgd, bf16, float>(memory);
  laws::update_law<gpu_kernels, Lion, float, float>(memory);
  laws::adamw_formula_law<gpu_kernels>(memory);
  laws::cast_law<gpu_kernels, float>(memory);
  laws::cast_law<gpu_kernels, bf16>(memory);
  laws::cast_law<gpu_kernels, fp16>(memory);
}

static_assert(gpu_kernels::partials_scratch(0) == 0);
static_assert(gpu_kernels::partials_scratch(2048) == 0);
static_assert(gpu_kernels::partials_scratch(2049) == 2);
static_assert(gpu_kernels::partials_scratch(2048 * 2048 + 1) == 2049 + 2);

TEST_CASE("zero and copy move whole ranges and nothing else") {
  std::vector<std::uint8_t> const before(1000, 7);
  gpu_array<std::uint8_t> const from(before);
  gpu_array<std::uint8_t> const to(1000);
  gpu_kernels::copy(nullptr, to.data(), from.data(), 999);
  gpu_kernels::zero(nullptr, from.data() + 1, 998);
  auto copied = before;
  copied[999] = 0;
  CHECK(to.values() == copied);
  std::vector<std::uint8_t> cleared(1000, 0);
  cleared.front() = 7;
  cleared.back() = 7;
  CHECK(from.values() == cleared);
  gpu_kernels::zero(nullptr, nullptr, 0);
  gpu_kernels::copy(nullptr, nullptr, nullptr, 0);
}

TEST_CASE("copy reaches the host's memory") {
  std::vector<double> const values{1, 2, 3};
  gpu_array<double> const there(3);
  std::vector<double> back(3);
  gpu_kernels::copy(nullptr, there.data(), values.data(), 24);
  gpu_kernels::copy(nullptr, back.data(), there.data(), 24);
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  CHECK(back == values);
}

TEST_CASE("after preload no launch takes memory of the GPU") {
  gpu_kernels::preload<AdamW, bf16, float>();
  gpu_kernels::preload<AdamW, float, float>();
  gpu_array<float> const numbers(4096);
  gpu_array<bf16> const rounded(4096);
  gpu_array<double> const partials(2);
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  std::size_t before = 0;
  std::size_t after = 0;
  std::size_t total = 0;
  check_cuda(cudaMemGetInfo(&before, &total), "cudaMemGetInfo");
  gpu_kernels::accumulate<bf16, float>(
      nullptr, rounded.data(), numbers.data(), 4096, true, 1, partials.data());
  gpu_kernels::squares<float>(nullptr, numbers.data(), 4096, partials.data());
  gpu_kernels::cast<bf16>(nullptr, numbers.data(), rounded.data(), 4096);
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  check_cuda(cudaMemGetInfo(&after, &total), "cudaMemGetInfo");
  CHECK(before == after);
}

TEST_CASE("a refused launch names the kernel and leaves no error behind") {
  gpu_array<float> const numbers(8);
  bool thrown = false;
  try {
    gpu::launch("zero::convert",
                detail::convert_kernel<float, float>,
                1,
                4096,  // more threads than a block can have
                nullptr,
                numbers.data(),
                numbers.data(),
                std::int64_t{8},
                true);
  } catch (cuda_error const& e) {
    thrown = true;
    CHECK(std::string(e.call()) == "zero::convert");
    CHECK(e.code() != static_cast<int>(cudaSuccess));
  }
  CHECK(thrown);
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("an error that somebody else left behind is not taken for ours") {
  CHECK(cudaSetDevice(12'345) != cudaSuccess);  // left behind on purpose
  gpu_array<float> const numbers(8);
  CHECK_NOTHROW(gpu_kernels::cast<float>(nullptr, numbers.data(), numbers.data(), 8));
  static_cast<void>(cudaGetLastError());
}

}  // namespace zero::test
