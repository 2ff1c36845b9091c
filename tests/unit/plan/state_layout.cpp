// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/state_layout.hpp>

#include <doctest/doctest.h>

#include <cstdint>

using zero::dtype;
using zero::make_state_layout;
using zero::state_role;

static_assert(make_state_layout(2, dtype::bf16).count == 3);
static_assert(make_state_layout(2, dtype::bf16).bytes(10) == 120);
static_assert(make_state_layout(2, dtype::fp32).bytes(10) == 80);
static_assert(make_state_layout(0, dtype::fp32).count == 0);
static_assert(make_state_layout(1, dtype::bf16).find(state_role::master, 0) == 0);
static_assert(make_state_layout(1, dtype::fp32).find(state_role::master, 0) == -1);

TEST_CASE("arrays follow one another without gaps, and each is found by its role") {
  for (auto const type : {dtype::fp32, dtype::bf16, dtype::fp16}) {
    for (int moments = 0; moments <= zero::max_moments; ++moments) {
      auto const layout = make_state_layout(moments, type);
      std::int64_t end = 0;
      std::int32_t position = 0;
      for (auto const& array : layout) {
        CHECK(layout.offset(position, 256) == end);
        CHECK(layout.find(array.role, array.index) == position);
        end += array.bytes(256);
        ++position;
      }
      CHECK(layout.bytes(256) == end);
      CHECK(layout.find(state_role::moment, moments) == -1);
    }
  }
}
