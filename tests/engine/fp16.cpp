// SPDX-License-Identifier: Apache-2.0
#include "tests/laws/engine_loss_scale.hpp"
#include "tests/support/host_platform.hpp"
#include "tests/support/zoo.hpp"

#include <zero/core/dtype.hpp>
#include <zero/optim/loss_scale.hpp>
#include <zero/policy/precision.hpp>
#include <zero/policy/stage.hpp>

#include <doctest/doctest.h>

namespace {

using platform = zero::test::host_platform;
using model = zero::test::zoo::model<zero::fp16>;
using precision = zero::Precision<zero::FP16>;

model const zoo = zero::test::zoo::make<zero::fp16>();

void follows(int ranks, zero::loss_scale_options const& scaling) {
  zero::laws::scale_follows<platform, model, precision>(zoo, ranks, scaling);
}

TEST_CASE("an overflow on one rank gives the same decisions and scales everywhere") {
  for (int const ranks : {1, 3, 4}) {
    follows(ranks, {.initial = 8, .window = 2, .hysteresis = 1});
  }
}

TEST_CASE("hysteresis forgives, once until the next doubling or each time anew") {
  for (int const hysteresis : {2, 3}) {
    for (bool const consecutive : {false, true}) {
      follows(3,
              {.initial = 8,
               .window = 2,
               .hysteresis = hysteresis,
               .consecutive_hysteresis = consecutive});
    }
  }
}

TEST_CASE("the scale stays between floor and ceiling") {
  follows(2, {.initial = 2, .window = 1, .hysteresis = 1, .minimum = 1, .maximum = 4});
}

TEST_CASE("a static scale never moves") {
  follows(2, {.dynamic = false, .initial = 4});
}

TEST_CASE("a step is unscaled with the scale in force in its backward") {
  zero::laws::growth_is_exact<platform, model, precision>(zoo, 3);
}

TEST_CASE("at the floor: stay, or throw where the result is read") {
  zero::laws::floor_law<platform,
                        zero::laws::engine_on<platform, model, precision, zero::Stage<2>>>(zoo, 3);
}

}  // namespace
