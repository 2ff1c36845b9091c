// SPDX-License-Identifier: Apache-2.0
#include <zero/device/gpu/sum.cuh>

#include "tests/gpu/device/gpu/array.hpp"
#include "tests/support/wild.hpp"

#include <zero/core/norm.hpp>
#include <zero/device/gpu/kernels.cuh>
#include <zero/device/host_kernels.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace zero::test {

namespace {

template <class W, class A>
void compare(std::vector<W> const& parts,
             std::int64_t stride,
             int rank,
             int ranks,
             std::vector<A> const& old,
             bool add,
             bool norm,
             std::int64_t shift) {
  auto const n = static_cast<std::int64_t>(old.size());
  std::vector<double> partials(static_cast<std::size_t>(norm_blocks(n)), -1.0);
  // The own part and the others', from all ranks' parts one behind the other.
  std::vector<W> const own(parts.begin() + rank * stride, parts.begin() + rank * stride + n);
  std::vector<W> received = parts;
  received.erase(received.begin() + rank * stride,
                 std::min(received.begin() + (rank + 1) * stride, received.end()));
  gpu_array<W> const gpu_own(own, shift);
  gpu_array<W> const gpu_received(received, shift);
  gpu_array<A> const gpu_accumulator(old, shift);
  gpu_array<double> const gpu_partials(partials);
  gpu_kernels::sum<W, A>(nullptr,
                         gpu_own.data(),
                         gpu_received.data(),
                         stride,
                         rank,
                         ranks,
                         gpu_accumulator.data(),
                         n,
                         add,
                         norm ? gpu_partials.data() : nullptr);
  std::vector<A> accumulator = old;
  host_kernels::sum<W, A>({},
                          own.data(),
                          received.data(),
                          stride,
                          rank,
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
        int const rank = static_cast<int>(n + ranks) % ranks;
        auto const all = numbers.vector<W>(n * ranks);
        auto const old = numbers.vector<A>(n);
        compare(all, n, rank, ranks, old, ranks % 2 == 0, ranks != 5, 0);
      }
    }
  }
  SUBCASE("with room between the ranks' parts, of any width") {
    for (std::int64_t const gap : {1, 5, 8, 256}) {
      CAPTURE(gap);
      std::int64_t const n = 4097;
      compare(numbers.vector<W>(4 * (n + gap)), n + gap, 1, 4, numbers.vector<A>(n), true, true, 0);
    }
  }
  SUBCASE("at addresses that are not aligned") {
    compare(numbers.vector<W>(3 * 5001), 5001, 2, 3, numbers.vector<A>(5001), true, true, 3);
  }
  SUBCASE("with denormals, infinities and NaN") {
    compare(any_bits<W>(3 * 65'537, 22), 65'537, 0, 3, any_bits<A>(65'537, 23), true, true, 0);
  }
  SUBCASE("in the place of the own part") {
    if constexpr (std::is_same_v<W, A>) {
      std::int64_t const n = 5001;
      for (std::int64_t const shift : {0, 3}) {
        auto const own = numbers.vector<W>(n);
        auto const received = numbers.vector<W>(2 * n);
        gpu_array<W> const gpu_own(own, shift);
        gpu_array<W> const gpu_received(received, shift);
        gpu_kernels::sum<W, W>(nullptr,
                               gpu_own.data(),
                               gpu_received.data(),
                               n,
                               1,
                               3,
                               gpu_own.data(),
                               n,
                               false,
                               nullptr);
        std::vector<W> sum = own;
        host_kernels::sum<W, W>(
            {}, own.data(), received.data(), n, 1, 3, sum.data(), n, false, nullptr);
        CHECK(differences(gpu_own.values(), sum) == 0);
      }
    }
  }
  SUBCASE("in many blocks") {
    std::int64_t const n = 1'000'003;
    compare(numbers.vector<W>(2 * n), n, 1, 2, numbers.vector<A>(n), true, true, 0);
  }
  SUBCASE("without reading what is overwritten") {
    compare(
        numbers.vector<W>(3 * 3000), 3000, 1, 3, std::vector<A>(3000, poison<A>), false, true, 0);
  }
}

}  // namespace zero::test
