// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/config.hpp>
#include <zero/version.hpp>

#include <cstdint>

namespace zero::inline ZERO_ABI {

namespace detail {

/// The finaliser of SplitMix64: a bijection that spreads every input bit over the result.
/// Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA'14; constants of
/// Stafford's variant 13.
[[nodiscard]] ZERO_HOST_DEVICE constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

}  // namespace detail

/// The hash of one element of one parameter. The hash of many elements is the sum of theirs modulo
/// 2^64: it depends on which element has which bits, and not on the order of summation, so shards
/// may be hashed apart and added.
/// @param key    stands for the parameter, e.g. key_of(name, 0)
/// @param index  the element's index in the whole parameter
/// @param bits   the element's bits, or any number that stands for its value
/// @return the mixed hash of the three. Cost: three times two multiplications.
[[nodiscard]] ZERO_HOST_DEVICE constexpr std::uint64_t mix_hash(std::uint64_t key,
                                                                std::uint64_t index,
                                                                std::uint64_t bits) noexcept {
  return detail::mix(detail::mix(detail::mix(key) ^ index) ^ bits);
}

}  // namespace zero::inline ZERO_ABI
