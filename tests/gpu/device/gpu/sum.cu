// SPDX-License-Identifier: Apache-2.0
#include <zero/device/gpu/sum.cuh>

#include "tests/gpu/device/gpu/array.hpp"
#include "tests/support/wild.hpp"

#include <zero/core/norm.hpp>
#include <zero/device/gpu/kernels.cuh>
#include <zero/device/host_kernels.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace zero::test {

namespace {

template <class W, class A>
void compare(std::vector<W> const& received,
             std::int64_t stride,
             int ranks,
             std::vector<A> const& old,
             bool add,
             bool norm,
             std::int64_t shift) {
  auto const n = static_cast<std::int64_t>(old.size());
  std::vector<double> partials(static_cast<std::size_t>(norm_blocks(n)), -1.0);
  gpu_array<W> const gpu_received(received, shift);
  gpu_array<A> const gpu_accumulator(old, shift);
  gpu_array<double> const gpu_partials(partials);
  gpu_kernels::sum<W, A>(nullptr,
                         gpu_received.data(),
                         stride,
                         ranks,
                         gpu_accumulator.data(),
                         n,
                         add,
                         norm ? gpu_partials.data() : nullptr);
  std::vector<A> accumulator = old;
  host_kernels::sum<W, A>({},
                          received.data(),
                          stride,
                          ranks,
                          accumulator.data(),
                          n,
                          add,
                          norm ? partials.data() : nullptr);
  CHECK(differences(gpu_accumulator.values(), accumulator) == 0);
  CHECK(differences(gpu_partials.values(), partials) == 0);
}

}  // namespace

TEST_CASE_TEMPLATE("the sum over the ranks on the GPU has the bits of the host",
                   T,
                   types<bf16, float>,
                   types<bf16, bf16>,
                   types<fp16, float>,
                   types<fp16, fp16>,
                   types<float, float>) {
  using W = typename T::first;
  using A = typename T::second;
  wild_numbers numbers(21);
  SUBCASE("at every size and number of ranks") {
    for (auto const n : awkward_sizes) {
      for (int const ranks : {1, 2, 3, 5, 8}) {
        CAPTURE(n);
        CAPTURE(ranks);
        auto const received = numbers.vector<W>(n * ranks);
        auto const old = numbers.vector<A>(n);
        compare(received, n, ranks, old, ranks % 2 == 0, ranks != 5, 0);
      }
    }
  }
  SUBCASE("with room between the ranks' parts, of any width") {
    for (std::int64_t const gap : {1, 5, 8, 256}) {
      CAPTURE(gap);
      std::int64_t const n = 4097;
      compare(numbers.vector<W>(4 * (n + gap)), n + gap, 4, numbers.vector<A>(n), true, true, 0);
    }
  }
  SUBCASE("at addresses that are not aligned") {
    compare(numbers.vector<W>(3 * 5001), 5001, 3, numbers.vector<A>(5001), true, true, 3);
  }
  SUBCASE("with denormals, infinities and NaN") {
    compare(any_bits<W>(3 * 65'537, 22), 65'537, 3, any_bits<A>(65'537, 23), true, true, 0);
  }
  SUBCASE("in many blocks") {
    std::int64_t const n = 1'000'003;
    compare(numbers.vector<W>(2 * n), n, 2, numbers.vector<A>(n), true, true, 0);
  }
  SUBCASE("without reading what is overwritten") {
    compare(numbers.vector<W>(3 * 3000), 3000, 3, std::vector<A>(3000, poison<A>), false, true, 0);
  }
}

}  // namespace zero::test
