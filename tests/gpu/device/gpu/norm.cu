// SPDX-License-Identifier: Apache-2.0
#include <zero/device/gpu/norm.cuh>

#include "tests/gpu/device/gpu/array.hpp"
#include "tests/support/wild.hpp"

#include <zero/core/norm.hpp>
#include <zero/device/gpu/kernels.cuh>
#include <zero/device/host_kernels.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace zero::test {

namespace {

template <class A>
void compare_squares(std::vector<A> const& values, std::int64_t shift) {
  auto const n = static_cast<std::int64_t>(values.size());
  std::vector<double> partials(static_cast<std::size_t>(norm_blocks(n)), -1.0);
  gpu_array<A> const gpu_values(values, shift);
  gpu_array<double> const gpu_partials(partials);
  gpu_kernels::squares<A>(nullptr, gpu_values.data(), n, gpu_partials.data());
  host_kernels::squares<A>({}, values.data(), n, partials.data());
  CHECK(differences(gpu_partials.values(), partials) == 0);
}

void compare_reduction(std::vector<double> const& partials) {
  auto const n = static_cast<std::int64_t>(partials.size());
  gpu_array<double> const gpu_partials(partials);
  gpu_array<double> const scratch(gpu_kernels::partials_scratch(n));
  gpu_array<double> const gpu_result(std::vector<double>(1, -1.0));
  gpu_kernels::reduce_partials(nullptr, gpu_partials.data(), n, scratch.data(), gpu_result.data());
  double result = -1;
  host_kernels::reduce_partials({}, partials.data(), n, nullptr, &result);
  CHECK(same(gpu_result.values()[0], result));
  static_cast<void>(scratch.values());
}

[[nodiscard]] std::vector<double> positive_doubles(std::int64_t n, std::uint64_t seed) {
  wild_numbers numbers(seed);
  std::vector<double> values;
  for (std::int64_t i = 0; i < n; ++i) {
    double const x = numbers.next();
    values.push_back(x * x);
  }
  return values;
}

}  // namespace

TEST_CASE_TEMPLATE("squares on the GPU have the bits of the host", A, bf16, fp16, float) {
  wild_numbers numbers(31);
  SUBCASE("at every size") {
    for (auto const n : awkward_sizes) {
      CAPTURE(n);
      compare_squares(numbers.vector<A>(n), 0);
    }
  }
  SUBCASE("at addresses that are not aligned") {
    for (std::int64_t const n : {1, 8, 2048, 9001}) {
      compare_squares(numbers.vector<A>(n), 1);
    }
  }
  SUBCASE("in many blocks") {
    compare_squares(numbers.vector<A>(1'000'003), 0);
  }
  SUBCASE("of numbers whose squares are beyond FP32, denormals, infinities and NaN") {
    compare_squares(any_bits<A>(200'001, 32), 0);
  }
}

TEST_CASE("the reduction of partial sums on the GPU has the bits of the host, level by level") {
  for (std::int64_t const n : {0, 1, 2, 7, 8, 9, 2047, 2048, 2049, 4096, 4097, 100'001}) {
    CAPTURE(n);
    compare_reduction(positive_doubles(n, 33 + static_cast<std::uint64_t>(n)));
  }
  compare_reduction(positive_doubles(2048 * 2048 + 3, 34));  // three levels
}

TEST_CASE("one element that is not finite makes the whole sum not finite") {
  auto values = wild_numbers(35).vector<float>(50'000);
  values[43'210] = INFINITY;
  gpu_array<float> const gpu_values(values);
  std::int64_t const blocks = norm_blocks(50'000);
  gpu_array<double> const partials(blocks);
  gpu_array<double> const scratch(gpu_kernels::partials_scratch(blocks));
  gpu_array<double> const result(1);
  gpu_kernels::squares<float>(nullptr, gpu_values.data(), 50'000, partials.data());
  gpu_kernels::reduce_partials(nullptr, partials.data(), blocks, scratch.data(), result.data());
  CHECK_FALSE(std::isfinite(result.values()[0]));
}

}  // namespace zero::test
