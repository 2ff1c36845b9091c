// SPDX-License-Identifier: Apache-2.0
#include <zero/core/queue.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <type_traits>

static_assert(std::is_same_v<std::underlying_type_t<zero::queue>, std::uint8_t>);
static_assert(zero::queue_count == 3);

TEST_CASE("the queues number from 0 to queue_count - 1") {
  CHECK(static_cast<int>(zero::queue::compute) == 0);
  CHECK(static_cast<int>(zero::queue::comm) == 1);
  CHECK(static_cast<int>(zero::queue::reduce) == zero::queue_count - 1);
}
