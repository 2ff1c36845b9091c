// SPDX-License-Identifier: Apache-2.0
#include <zero/device/gpu/accumulate.cuh>

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

template <class P, class A>
void compare(std::vector<P> const& gradient,
             std::vector<A> const& old,
             bool add,
             bool norm,
             std::int64_t shift) {
  auto const n = static_cast<std::int64_t>(gradient.size());
  float const scale = add ? 3 : 1;
  std::vector<double> partials(static_cast<std::size_t>(norm_blocks(n)), -1.0);
  gpu_array<P> const gpu_gradient(gradient, shift);
  gpu_array<A> const gpu_accumulator(old, shift);
  gpu_array<double> const gpu_partials(partials);
  gpu_kernels::accumulate<P, A>(nullptr,
                                gpu_gradient.data(),
                                gpu_accumulator.data(),
                                n,
                                add,
                                scale,
                                norm ? gpu_partials.data() : nullptr);
  std::vector<A> accumulator = old;
  host_kernels::accumulate<P, A>(
      {}, gradient.data(), accumulator.data(), n, add, scale, norm ? partials.data() : nullptr);
  CHECK(differences(gpu_accumulator.values(), accumulator) == 0);
  CHECK(differences(gpu_partials.values(), partials) == 0);
}

}  // namespace

TEST_CASE_TEMPLATE("accumulation on the GPU has the bits of the host",
                   T,
                   types<bf16, float>,
                   types<bf16, bf16>,
                   types<fp16, float>,
                   types<fp16, fp16>,
                   types<float, float>) {
  using P = typename T::first;
  using A = typename T::second;
  wild_numbers numbers(11);
  SUBCASE("at every size") {
    for (auto const n : awkward_sizes) {
      CAPTURE(n);
      auto const gradient = numbers.vector<P>(n);
      auto const old = numbers.vector<A>(n);
      for (bool const add : {false, true}) {
        for (bool const norm : {false, true}) {
          compare(gradient, old, add, norm, 0);
        }
      }
    }
  }
  SUBCASE("at addresses that are not aligned") {
    for (std::int64_t const n : {1, 8, 2048, 5001}) {
      compare(numbers.vector<P>(n), numbers.vector<A>(n), true, true, 1);
    }
  }
  SUBCASE("with denormals, infinities and NaN") {
    compare(any_bits<P>(100'003, 12), any_bits<A>(100'003, 13), true, true, 0);
  }
  SUBCASE("in many blocks") {
    std::int64_t const n = 1'000'003;
    compare(numbers.vector<P>(n), numbers.vector<A>(n), true, true, 0);
  }
  SUBCASE("without reading what is overwritten") {
    std::int64_t const n = 3000;
    compare(numbers.vector<P>(n), std::vector<A>(n, poison<A>), false, true, 0);
  }
}

}  // namespace zero::test
