// SPDX-License-Identifier: Apache-2.0
#include <zero/core/hash.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <set>

// The first number of SplitMix64 with seed 0.
static_assert(zero::detail::mix(0) == 0xE220A8397B1DCDAF);
static_assert(zero::mix_hash(1, 2, 3) != zero::mix_hash(1, 3, 2));
static_assert(zero::mix_hash(1, 2, 3) != zero::mix_hash(2, 1, 3));

TEST_CASE("small changes of each argument give different hashes") {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t key = 0; key < 16; ++key) {
    for (std::uint64_t index = 0; index < 16; ++index) {
      for (std::uint64_t bits = 0; bits < 16; ++bits) {
        hashes.insert(zero::mix_hash(key, index, bits));
      }
    }
  }
  CHECK(hashes.size() == 16 * 16 * 16);
}

TEST_CASE("one bit of input changes about half of the hash") {
  for (unsigned bit = 0; bit < 64; ++bit) {
    std::uint64_t const flip = std::uint64_t{1} << bit;
    int changed = 0;
    for (std::uint64_t i = 0; i < 64; ++i) {
      changed += std::popcount(zero::mix_hash(1, i, 5) ^ zero::mix_hash(1, i, 5 ^ flip));
      changed += std::popcount(zero::mix_hash(1, i, 5) ^ zero::mix_hash(1, i ^ flip, 5));
      changed += std::popcount(zero::mix_hash(1, i, 5) ^ zero::mix_hash(1 ^ flip, i, 5));
    }
    // 3 * 64 * 64 bits, each changed with probability 1/2; five standard deviations.
    CHECK(changed > 6144 - 278);
    CHECK(changed < 6144 + 278);
  }
}

TEST_CASE("two elements that change places change the sum") {
  CHECK(zero::mix_hash(1, 0, 10) + zero::mix_hash(1, 1, 20) !=
        zero::mix_hash(1, 0, 20) + zero::mix_hash(1, 1, 10));
}
