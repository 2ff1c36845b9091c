// SPDX-License-Identifier: Apache-2.0
#include <zero/device/host_stream.hpp>

#include <doctest/doctest.h>

#include <type_traits>

static_assert(std::is_empty_v<zero::host_stream>);
static_assert(std::is_trivially_copyable_v<zero::host_stream>);

TEST_CASE("there is one host stream") {
  CHECK(zero::host_stream{} == zero::host_stream{});
}
