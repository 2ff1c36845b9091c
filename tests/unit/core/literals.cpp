// SPDX-License-Identifier: Apache-2.0
#include <zero/core/literals.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <type_traits>

using namespace zero::literals;

static_assert(std::is_same_v<decltype(1_KiB), std::int64_t>);
static_assert(1_KiB == 1024);
static_assert(3_MiB == 1024_KiB * 3);
static_assert(80_GiB == 1024_MiB * 80);
static_assert(0_GiB == 0);

TEST_CASE("sizes beyond 32 bits are exact") {
  CHECK(5_GiB == 5368709120);
}
