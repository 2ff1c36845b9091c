// SPDX-License-Identifier: Apache-2.0
#include <zero/device/update_arguments.hpp>

#include <doctest/doctest.h>

#include <type_traits>

static_assert(std::is_trivially_copyable_v<zero::update_arguments<zero::bf16, float>>);
// It travels to a kernel inside the body of a queue.
static_assert(sizeof(zero::update_arguments<zero::bf16, zero::bf16>) <= 96);

TEST_CASE("arguments that nobody has filled in name no elements") {
  zero::update_arguments<float, float> const nothing;
  CHECK(nothing.n == 0);
  CHECK(nothing.segment_count == 0);
  CHECK(nothing.gradient == nullptr);
  CHECK(nothing.master == nullptr);
  CHECK(nothing.parameter == nullptr);
  CHECK(nothing.moments[0] == nullptr);
}
