// SPDX-License-Identifier: Apache-2.0
#include <zero/core/norm.hpp>

#include "tests/support/wild.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

static_assert(zero::norm_block == 2048);
static_assert(zero::norm_blocks(0) == 0 && zero::norm_blocks(1) == 1);
static_assert(zero::norm_blocks(2048) == 1 && zero::norm_blocks(2049) == 2);
static_assert(zero::norm_blocks(std::int64_t{1} << 62) == std::int64_t{1} << 51);
static_assert(zero::norm_scratch(0) == 0 && zero::norm_scratch(2048) == 0);
static_assert(zero::norm_scratch(2049) == 2);
static_assert(zero::norm_scratch(std::int64_t{2048} * 2048) == 2048);
static_assert(zero::norm_scratch(std::int64_t{2048} * 2048 + 1) == 2049 + 2);
static_assert(zero::lane_sum({1, 2, 3, 4, 5, 6, 7, 8}) == 36);
static_assert(zero::lane_squares({1, 2, 3, 4, 5, 6, 7, 8}) == 204);

namespace {

// The tree as it is stated, written over a whole block of 2048 terms.
double tree(std::vector<double> terms) {
  terms.resize(2048);
  std::vector<double> s;
  for (std::size_t t = 0; t < 256; ++t) {
    double const* const x = &terms[8 * t];
    s.push_back(((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7])));
  }
  for (std::size_t stride = 128; stride > 0; stride /= 2) {
    for (std::size_t t = 0; t < stride; ++t) {
      s[t] += s[t + stride];
    }
  }
  return s[0];
}

template <class T>
double squares(std::vector<T> const& values) {
  std::vector<double> terms;
  for (T const value : values) {
    double const x = zero::to_float(value);
    terms.push_back(x * x);
  }
  return tree(terms);
}

// Level by level, each level written out.
double levels(std::vector<double> numbers) {
  do {
    std::vector<double> next;
    for (std::size_t first = 0; first < numbers.size(); first += 2048) {
      std::size_t const last = std::min(numbers.size(), first + 2048);
      next.push_back(tree({numbers.begin() + static_cast<std::ptrdiff_t>(first),
                           numbers.begin() + static_cast<std::ptrdiff_t>(last)}));
    }
    numbers = next;
  } while (numbers.size() > 1);
  return numbers.empty() ? 0 : numbers[0];
}

}  // namespace

TEST_CASE_TEMPLATE(
    "the sum of a block is the stated tree, bit for bit", T, float, zero::bf16, zero::fp16) {
  zero::test::wild_numbers numbers(1);
  for (std::int64_t const n : {0, 1, 2, 7, 8, 9, 15, 16, 17, 255, 256, 257, 1000, 2047, 2048}) {
    std::vector<T> const values = numbers.vector<T>(n);
    CAPTURE(n);
    CHECK(zero::block_squares(values.data(), n) == squares(values));
  }
}

TEST_CASE("the order matters to these numbers, so that the tests above say something") {
  zero::test::wild_numbers numbers(2);
  int others = 0;
  for (int i = 0; i < 20; ++i) {
    std::vector<float> values = numbers.vector<float>(2048);
    double const sum = squares(values);
    std::ranges::rotate(values, values.begin() + 3);
    others += squares(values) != sum ? 1 : 0;
  }
  CHECK(others >= 5);
}

TEST_CASE("missing elements count as zero") {
  zero::test::wild_numbers numbers(3);
  std::vector<float> values = numbers.vector<float>(777);
  double const sum = zero::block_squares(values.data(), 777);
  values.resize(2048);
  CHECK(zero::block_squares(values.data(), 2048) == sum);
}

TEST_CASE("finite numbers whose squares overflow FP32 have a finite sum") {
  std::vector<float> const values(2048, std::numeric_limits<float>::max());
  double const sum = zero::block_squares(values.data(), 2048);
  CHECK(std::isfinite(sum));
  CHECK(sum == 2048 * std::pow(static_cast<double>(std::numeric_limits<float>::max()), 2));
}

TEST_CASE("the squares of denormals are counted") {
  float const smallest = std::numeric_limits<float>::denorm_min();
  CHECK(zero::block_squares(&smallest, 1) == 0x1p-298);
}

TEST_CASE("one number that is not finite, anywhere, makes the sum not finite") {
  for (float const bad : {std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()}) {
    for (std::size_t const at : {0, 7, 8, 1999, 2003}) {
      std::vector<float> values(2004, 1.0F);
      values[at] = bad;
      CHECK_FALSE(std::isfinite(zero::block_squares(values.data(), 2004)));
    }
  }
}

TEST_CASE("partial sums are added level by level, bit for bit") {
  std::mt19937_64 bits(4);
  for (std::int64_t const n : {0,
                               1,
                               2,
                               8,
                               9,
                               2047,
                               2048,
                               2049,
                               4096,
                               5000,
                               2048 * 2048 - 1,
                               2048 * 2048,
                               2048 * 2048 + 1,
                               2048 * 2048 + 2049}) {
    std::vector<double> numbers(static_cast<std::size_t>(n));
    for (double& number : numbers) {
      number = std::ldexp(static_cast<double>(bits() >> 11U), -static_cast<int>(bits() % 64));
    }
    CAPTURE(n);
    CHECK(zero::reduce_partials(numbers.data(), n) == levels(numbers));
    if (n <= 2048) {
      CHECK(zero::block_sum(numbers.data(), n) == tree(numbers));
    }
  }
}

TEST_CASE("lanes are summed by halving strides") {
  double lanes[zero::norm_lanes] = {};
  for (int t = 0; t < zero::norm_lanes; ++t) {
    lanes[t] = t;
  }
  CHECK(zero::sum_lanes(lanes) == 255 * 128);
}
