// SPDX-License-Identifier: Apache-2.0
#include "tests/laws/engine_bits.hpp"
#include "tests/support/host_platform.hpp"
#include "tests/support/zoo.hpp"

#include <zero/policy/precision.hpp>

#include <doctest/doctest.h>

// FP32: parameters are their own masters, and gradients travel in FP32.

namespace {

using platform = zero::test::host_platform;
using model = zero::test::zoo::model<float>;
using precision = zero::Precision<zero::FP32>;

model const zoo = zero::test::zoo::make<float>();

TEST_CASE("FP32: all stages give the same bits") {
  for (int const ranks : {1, 2, 3, 4, 5, 7, 8}) {
    zero::laws::stages_agree<platform, model, precision>(zoo, ranks);
  }
}

TEST_CASE("FP32: another order of the ranks gives other bits") {
  for (int const ranks : {2, 3, 8}) {
    zero::laws::order_is_seen<platform, model, precision>(zoo, ranks);
  }
}

TEST_CASE("FP32: settings of the schedule, delays and poison change no bit") {
  zero::laws::settings_change_nothing<platform, model, precision>(zoo, 3, 1, 2);
  zero::laws::settings_change_nothing<platform, model, precision>(zoo, 3, 3, 2);
}

}  // namespace
