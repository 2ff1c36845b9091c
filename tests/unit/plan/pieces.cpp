// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/pieces.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>

using zero::dtype;

static_assert(zero::wire_bytes({}, dtype::bf16, false) == 2);
static_assert(zero::wire_bytes({}, dtype::bf16, true) == 4);
static_assert(zero::wire_bytes({.native_accumulate = true}, dtype::bf16, true) == 2);
static_assert(zero::wire_type({.native_accumulate = true}, dtype::fp16, true) == dtype::fp16);

TEST_CASE("a piece has whole norm blocks, fills its bytes, and has one block at least") {
  for (int const world : {1, 2, 3, 8}) {
    for (std::int64_t const bytes : {1, 4096, 100'000, 1 << 20, 32 << 20}) {
      zero::plan_config const config{.world = world, .schedule = {.piece_bytes = bytes}};
      auto const others = std::max(world - 1, 1);
      for (std::int64_t const width : {2, 4}) {
        auto const n = zero::piece_elements(config, width);
        CHECK(n % zero::norm_block == 0);
        CHECK(n >= zero::norm_block);
        CHECK((n == zero::norm_block || n * others * width <= bytes));
        CHECK((n + zero::norm_block) * others * width > bytes);
      }
    }
  }
}

TEST_CASE("a receive buffer holds the other ranks' parts of a piece, and no more than the shard") {
  zero::plan_config const config{.world = 4};
  zero::unit_range range;
  range.type = dtype::bf16;
  range.world = 4;
  range.elements = 4 * 1024;
  CHECK(zero::receive_bytes(config, range, false) == 3 * 2 * 1024);
  CHECK(zero::receive_bytes(config, range, true) == 3 * 4 * 1024);
}
