// SPDX-License-Identifier: Apache-2.0
#include "tests/laws/engine_bits.hpp"
#include "tests/support/host_platform.hpp"
#include "tests/support/zoo.hpp"

#include <zero/core/dtype.hpp>
#include <zero/policy/precision.hpp>

#include <doctest/doctest.h>

// FP16: the loss scale multiplies what the ranks compute, and moves.

namespace {

using platform = zero::test::host_platform;
using model = zero::test::zoo::model<zero::fp16>;
using precision = zero::Precision<zero::FP16>;

model const zoo = zero::test::zoo::make<zero::fp16>();

TEST_CASE("FP16: all stages give the same bits") {
  for (int const ranks : {1, 2, 3, 4, 5, 7, 8}) {
    zero::laws::stages_agree<platform, model, precision>(zoo, ranks);
  }
}

TEST_CASE("FP16: another order of the ranks gives other bits") {
  for (int const ranks : {2, 3, 8}) {
    zero::laws::order_is_seen<platform, model, precision>(zoo, ranks);
  }
}

TEST_CASE("FP16: settings of the schedule, delays and poison change no bit") {
  zero::laws::settings_change_nothing<platform, model, precision>(zoo, 3, 0, 2);
  zero::laws::settings_change_nothing<platform, model, precision>(zoo, 3, 3, 2);
}

TEST_CASE("FP16: a skipped step leaves no trace") {
  zero::laws::skipped_step_leaves_no_trace<platform, model, precision>(zoo, 3);
}

}  // namespace
