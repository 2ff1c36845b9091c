// SPDX-License-Identifier: Apache-2.0
#include <zero/detail/control_block.hpp>

#include "tests/unit/plan/random_plan.hpp"

#include <zero/optim/adamw.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace {

using optimizer = zero::AdamW;
using zero::detail::control_block;

static_assert(zero::detail::control_slot<char> == zero::parameter_alignment_bytes);
static_assert(zero::detail::step_state_bytes<optimizer> % zero::parameter_alignment_bytes == 0);

TEST_CASE("the parts of the control pool are aligned, apart, and inside of it") {
  std::mt19937 random(91);
  for (int round = 0; round < 100; ++round) {
    auto drawn = zero::test::draw_case(random);
    drawn.config.state_bytes = zero::detail::step_state_bytes<optimizer>;
    auto const plan = drawn.plan();
    auto const bytes = zero::control_layout_of(plan).bytes;
    std::vector<std::byte> pool(static_cast<std::size_t>(bytes));
    control_block<optimizer> const block(pool.data(), plan);

    std::vector<std::pair<std::int64_t, std::int64_t>> parts;
    auto add = [&](void const* begin, std::int64_t size) {
      auto const at = static_cast<std::byte const*>(begin) - pool.data();
      CHECK(at % zero::parameter_alignment_bytes == 0);
      CHECK(at >= 0);
      CHECK(at + size <= bytes);
      if (size > 0) {
        parts.emplace_back(at, at + size);
      }
    };
    add(block.partials(), 8 * plan.layout.norm_blocks);
    add(block.records(), std::int64_t{sizeof(zero::rank_record)} * plan.config.world);
    add(block.state(), sizeof(zero::step_state<optimizer>));
    add(block.config(), sizeof(zero::step_config<optimizer>));
    add(block.control(), sizeof(zero::step_control));
    add(block.ring(), std::int64_t{sizeof(zero::step_record)} * zero::result_ring);
    add(block.segments(),
        std::int64_t{sizeof(zero::update_segment)} *
            static_cast<std::int64_t>(plan.groups.segments.size()));
    add(block.window(), zero::full_window_bytes);

    std::sort(parts.begin(), parts.end());
    for (std::size_t i = 1; i < parts.size(); ++i) {
      CHECK(parts[i - 1].second <= parts[i].first);
    }
  }
}

}  // namespace
