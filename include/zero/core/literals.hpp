// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/version.hpp>

#include <cstdint>

/// Sizes in bytes: `using namespace zero::literals;` and write `80_GiB`.
namespace zero::inline ZERO_ABI::inline literals {

/// @return that many times 2^10 bytes.
[[nodiscard]] constexpr std::int64_t operator""_KiB(unsigned long long count) noexcept {
  return static_cast<std::int64_t>(count << 10U);
}

/// @return that many times 2^20 bytes.
[[nodiscard]] constexpr std::int64_t operator""_MiB(unsigned long long count) noexcept {
  return static_cast<std::int64_t>(count << 20U);
}

/// @return that many times 2^30 bytes.
[[nodiscard]] constexpr std::int64_t operator""_GiB(unsigned long long count) noexcept {
  return static_cast<std::int64_t>(count << 30U);
}

}  // namespace zero::inline ZERO_ABI::inline literals
