// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/arithmetic.hpp>
#include <zero/core/config.hpp>
#include <zero/core/hash.hpp>
#include <zero/version.hpp>

#include <cstdint>
#include <string_view>

/// @file
/// Random numbers without state: the number for (key, index) is a function of these two alone, so
/// initial values and noise do not depend on the number of ranks, the stage, the device, the order
/// of evaluation or the number of threads. Only integer arithmetic and exact conversions: the same
/// bits everywhere. Cost: ten rounds of two multiplications each; `approximately_normal` three
/// times that.

namespace zero::inline ZERO_ABI {

namespace detail {

struct philox_block {
  std::uint32_t words[4];
};

/// Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC'11.
[[nodiscard]] ZERO_HOST_DEVICE constexpr philox_block philox(philox_block counter,
                                                             std::uint64_t key) noexcept {
  auto key_0 = static_cast<std::uint32_t>(key);
  auto key_1 = static_cast<std::uint32_t>(key >> 32U);
  for (int round = 0; round < 10; ++round) {
    std::uint64_t const product_0 = std::uint64_t{0xD2511F53U} * counter.words[0];
    std::uint64_t const product_1 = std::uint64_t{0xCD9E8D57U} * counter.words[2];
    counter = {{static_cast<std::uint32_t>(product_1 >> 32U) ^ counter.words[1] ^ key_0,
                static_cast<std::uint32_t>(product_1),
                static_cast<std::uint32_t>(product_0 >> 32U) ^ counter.words[3] ^ key_1,
                static_cast<std::uint32_t>(product_0)}};
    key_0 += 0x9E3779B9U;
    key_1 += 0xBB67AE85U;
  }
  return counter;
}

[[nodiscard]] ZERO_HOST_DEVICE constexpr philox_block random_block(std::uint64_t key,
                                                                   std::uint64_t index,
                                                                   std::uint32_t block) noexcept {
  return philox(
      {{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32U), block, 0U}},
      key);
}

}  // namespace detail

/// @param name  a parameter's name, or any text
/// @param seed  the run's seed
/// @return the key of that parameter's numbers
[[nodiscard]] constexpr std::uint64_t key_of(std::string_view name, std::uint64_t seed) noexcept {
  std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a, 64 bits
  for (char const c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x00000100000001B3U;
  }
  return detail::mix(hash ^ detail::mix(seed));
}

/// @param key    which stream of numbers
/// @param index  which number of it
/// @return 64 random bits
[[nodiscard]] ZERO_HOST_DEVICE constexpr std::uint64_t random_bits(std::uint64_t key,
                                                                   std::uint64_t index) noexcept {
  detail::philox_block const block = detail::random_block(key, index, 0);
  return (std::uint64_t{block.words[1]} << 32U) | block.words[0];
}

/// @param key    which stream of numbers
/// @param index  which number of it
/// @return a number of [0, 1): a multiple of 2^-24, each equally likely
[[nodiscard]] ZERO_HOST_DEVICE constexpr float uniform(std::uint64_t key,
                                                       std::uint64_t index) noexcept {
  auto const bits = static_cast<std::int32_t>(random_bits(key, index) >> 40U);
  return mul(static_cast<float>(bits), 0x1p-24F);  // both exact
}

/// A number with mean 0, variance 1 and nearly the shape of the normal distribution: the sum of
/// twelve uniform ones, less six (Irwin-Hall). Its tails end at -6 and 6; its fourth moment is 2.9
/// where the normal distribution has 3. Independent of `uniform` of the same key and index.
/// @param key    which stream of numbers
/// @param index  which number of it
/// @return a multiple of 2^-20
[[nodiscard]] ZERO_HOST_DEVICE constexpr float approximately_normal(std::uint64_t key,
                                                                    std::uint64_t index) noexcept {
  std::int64_t sum = 6 - 6 * (std::int64_t{1} << 32U);  // each word stands for word + 1/2
  for (std::uint32_t block = 1; block <= 3; ++block) {
    detail::philox_block const random = detail::random_block(key, index, block);
    for (std::uint32_t const word : random.words) {
      sum += word;
    }
  }
  // Below 2^24 after the shift, so that the conversion is exact.
  auto const rounded = static_cast<std::int32_t>((sum + (1 << 11)) >> 12);
  return mul(static_cast<float>(rounded), 0x1p-20F);
}

}  // namespace zero::inline ZERO_ABI
