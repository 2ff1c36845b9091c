// SPDX-License-Identifier: Apache-2.0
#include "tests/laws/engine_bits.hpp"
#include "tests/support/host_platform.hpp"
#include "tests/support/zoo.hpp"

#include <zero/core/dtype.hpp>

#include <doctest/doctest.h>

// The default policies: BF16, FP32 accumulators, ordered reduction, AdamW, local ranks, host.

namespace {

using platform = zero::test::host_platform;
using model = zero::test::zoo::model<zero::bf16>;

model const zoo = zero::test::zoo::make<zero::bf16>();

TEST_CASE("all stages give the same bits, clipping active and a step skipped") {
  for (int const ranks : {1, 2, 3, 4, 5, 7, 8}) {
    zero::laws::stages_agree<platform>(zoo, ranks);
  }
}

TEST_CASE("another order of the ranks gives other bits from three ranks on") {
  for (int const ranks : {1, 2, 3, 5, 8}) {
    zero::laws::order_is_seen<platform>(zoo, ranks);
  }
}

TEST_CASE("settings of the schedule, delays and poison change no bit: one micro-step") {
  for (int stage = 0; stage < 4; ++stage) {
    zero::laws::settings_change_nothing<platform>(zoo, 3, stage, 1);
  }
}

TEST_CASE("settings of the schedule, delays and poison change no bit: two micro-steps") {
  for (int stage = 0; stage < 4; ++stage) {
    zero::laws::settings_change_nothing<platform>(zoo, 2, stage, 2);
  }
}

TEST_CASE("settings of the schedule, delays and poison change no bit: five micro-steps") {
  zero::laws::settings_change_nothing<platform>(zoo, 5, 1, 5);
  zero::laws::settings_change_nothing<platform>(zoo, 8, 3, 5);
  zero::laws::settings_change_nothing<platform>(zoo, 1, 2, 5);
}

TEST_CASE("the residency threshold changes no bit of an unclipped step") {
  for (int const ranks : {1, 3, 8}) {
    zero::laws::residency_changes_nothing<platform>(zoo, ranks);
  }
}

TEST_CASE("a skipped step leaves no trace") {
  for (int const ranks : {1, 3}) {
    zero::laws::skipped_step_leaves_no_trace<platform>(zoo, ranks);
  }
}

}  // namespace
