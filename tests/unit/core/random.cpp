// SPDX-License-Identifier: Apache-2.0
#include <zero/core/random.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

// A function of key and index, at compile time too.
static_assert(zero::random_bits(1, 2) != zero::random_bits(1, 3));
static_assert(zero::random_bits(1, 2) != zero::random_bits(2, 2));
static_assert(zero::uniform(1, 2) >= 0.0F && zero::uniform(1, 2) < 1.0F);
static_assert(zero::key_of("a", 0) != zero::key_of("b", 0));
static_assert(zero::key_of("a", 0) != zero::key_of("a", 1));

namespace {

bool generates(zero::detail::philox_block counter,
               std::uint64_t key,
               zero::detail::philox_block expected) {
  zero::detail::philox_block const block = zero::detail::philox(counter, key);
  bool equal = true;
  for (int i = 0; i < 4; ++i) {
    equal = equal && block.words[i] == expected.words[i];
  }
  return equal;
}

}  // namespace

TEST_CASE("Philox4x32-10 gives the published answers") {
  // kat_vectors of Random123, the authors' library.
  CHECK(generates({{0, 0, 0, 0}}, 0, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}));
  CHECK(generates({{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
                  0xffffffffffffffff,
                  {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}));
  CHECK(generates({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
                  0x299f31d0a4093822,
                  {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}));
}

TEST_CASE("uniform numbers fill [0, 1) evenly") {
  int const n = 1 << 18;
  double sum = 0;
  double squares = 0;
  std::vector<int> bins(64);
  for (int i = 0; i < n; ++i) {
    float const x = zero::uniform(7, static_cast<std::uint64_t>(i));
    REQUIRE(x >= 0.0F);
    REQUIRE(x < 1.0F);
    sum += x;
    squares += static_cast<double>(x) * x;
    ++bins[static_cast<std::size_t>(x * 64)];
  }
  // Five standard deviations of the mean of n numbers.
  CHECK(std::abs(sum / n - 0.5) < 5 * std::sqrt(1.0 / 12 / n));
  CHECK(std::abs(squares / n - 1.0 / 3) < 5 * std::sqrt(4.0 / 45 / n));
  for (int const count : bins) {
    CHECK(std::abs(count - n / 64.0) < 5 * std::sqrt(n / 64.0));
  }
}

TEST_CASE("approximately normal numbers have the moments of twelve uniform ones") {
  int const n = 1 << 18;
  double moments[5] = {};
  for (int i = 0; i < n; ++i) {
    float const x = zero::approximately_normal(7, static_cast<std::uint64_t>(i));
    REQUIRE(std::abs(x) <= 6.0F);
    REQUIRE(x * 0x1p20F == std::floor(x * 0x1p20F));
    for (int k = 1; k <= 4; ++k) {
      moments[k] += std::pow(static_cast<double>(x), k) / n;
    }
  }
  // The variance of x^k is at most the 2k-th moment of the normal distribution: 1, 3, 15, 105.
  CHECK(std::abs(moments[1]) < 5 * std::sqrt(1.0 / n));
  CHECK(std::abs(moments[2] - 1) < 5 * std::sqrt(3.0 / n));
  CHECK(std::abs(moments[3]) < 5 * std::sqrt(15.0 / n));
  CHECK(std::abs(moments[4] - 2.9) < 5 * std::sqrt(105.0 / n));
}

TEST_CASE("indices beyond 32 bits are different numbers") {
  std::uint64_t const high = std::uint64_t{1} << 40U;
  CHECK(zero::random_bits(1, 5) != zero::random_bits(1, high + 5));
  CHECK(zero::approximately_normal(1, 5) != zero::approximately_normal(1, high + 5));
}

TEST_CASE("neighbouring numbers and streams are not correlated") {
  int const n = 1 << 16;
  double along = 0;
  double across = 0;
  for (int i = 0; i < n; ++i) {
    auto const index = static_cast<std::uint64_t>(i);
    double const x = zero::approximately_normal(1, index);
    along += x * zero::approximately_normal(1, index + 1) / n;
    across += x * zero::approximately_normal(2, index) / n;
  }
  CHECK(std::abs(along) < 5 / std::sqrt(n));
  CHECK(std::abs(across) < 5 / std::sqrt(n));
}

TEST_CASE("keys of names that differ in one letter, or only in the seed, differ") {
  CHECK(zero::key_of("blocks.1.out", 3) != zero::key_of("blocks.2.out", 3));
  CHECK(zero::key_of("", 0) != zero::key_of("", 1));
  CHECK(zero::key_of("blocks.1.out", 3) == zero::key_of(std::string("blocks.1.out"), 3));
}

TEST_CASE("the numbers are the same in every version") {
  // Runs that name a seed depend on them: a change is a breaking one.
  CHECK(zero::random_bits(0, 0) == 0xe169c58d6627e8d5);
  CHECK(zero::uniform(0, 0) == 0x1.c2d38ap-1F);
  CHECK(zero::approximately_normal(0, 0) == -0x1.244cp-3F);
  CHECK(zero::key_of("blocks.3.attn.qkv", 1234) == 0x9ff29e6ce721592b);
}
