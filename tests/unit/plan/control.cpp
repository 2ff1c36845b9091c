// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/control.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>

TEST_CASE("the parts of the control pool are aligned, do not overlap, and fill it") {
  zero::model_plan_layout layout;
  for (std::int64_t const blocks : {0, 1, 5, 2048, 2049, 5000000}) {
    for (std::int64_t const segments : {0, 1, 77}) {
      layout.norm_blocks = blocks;
      zero::plan_config const config{.world = 3, .state_bytes = 1024};
      auto const c = zero::make_control_layout(layout, segments, config);
      std::array const starts{c.partials, c.scratch, c.records, c.state, c.segments, c.window};
      CHECK(std::is_sorted(starts.begin(), starts.end()));
      for (auto const start : starts) {
        CHECK(start % zero::parameter_alignment_bytes == 0);
      }
      CHECK(c.scratch - c.partials >= 8 * blocks);
      CHECK(c.records - c.scratch == zero::detail::round_up(8 * zero::norm_scratch(blocks),
                                                            zero::parameter_alignment_bytes));
      CHECK(c.state - c.records >= 24);
      CHECK(c.segments - c.state >= 1024);
      CHECK(c.window - c.segments >= 24 * segments);
      CHECK(c.bytes - c.window == zero::full_window_bytes);
    }
  }
}
