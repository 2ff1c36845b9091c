// SPDX-License-Identifier: Apache-2.0
#include <zero/trace/ranges.hpp>

#include <doctest/doctest.h>

#include <type_traits>

static_assert(std::is_empty_v<zero::profiler_range>, "a range that is off is nothing");
static_assert(!std::is_copy_constructible_v<zero::profiler_range>);

TEST_CASE("ranges that are off do nothing") {
  zero::profiler_range const range("gather", "blocks.0");
  auto const lease = zero::start_profiler_range("forward", "blocks.0");
  CHECK(lease == 0);
  zero::end_profiler_range(lease);
}
