// SPDX-License-Identifier: Apache-2.0
#include "tests/laws/engine_bits.hpp"
#include "tests/support/host_platform.hpp"
#include "tests/support/zoo.hpp"

#include <zero/core/dtype.hpp>
#include <zero/policy/accumulate.hpp>
#include <zero/policy/precision.hpp>
#include <zero/policy/reduction.hpp>

#include <doctest/doctest.h>

// Accumulators in the parameters' type, and the communicator's own sum, which is in rank order for
// local ranks.

namespace {

using platform = zero::test::host_platform;
using model = zero::test::zoo::model<zero::bf16>;
using accumulate = zero::Accumulate<zero::Native>;
using reduction = zero::Reduction<zero::Native>;

model const zoo = zero::test::zoo::make<zero::bf16>();

TEST_CASE("native accumulators: all stages give the same bits") {
  for (int const ranks : {1, 2, 3, 5, 8}) {
    zero::laws::stages_agree<platform, model, accumulate>(zoo, ranks);
  }
}

TEST_CASE("native accumulators: settings of the schedule, delays and poison change no bit") {
  zero::laws::settings_change_nothing<platform, model, accumulate>(zoo, 3, 0, 2);
  zero::laws::settings_change_nothing<platform, model, accumulate>(zoo, 3, 2, 2);
}

TEST_CASE("native reduction: all stages give the same bits") {
  for (int const ranks : {1, 2, 3, 4, 5, 7, 8}) {
    zero::laws::stages_agree<platform, model, reduction>(zoo, ranks);
  }
}

TEST_CASE("native reduction: settings of the schedule, delays and poison change no bit") {
  for (int stage = 0; stage < 4; ++stage) {
    zero::laws::settings_change_nothing<platform, model, reduction>(zoo, 3, stage, 2);
  }
}

TEST_CASE("native reduction of native accumulators: all stages give the same bits") {
  zero::laws::stages_agree<platform, model, accumulate, reduction>(zoo, 3);
}

TEST_CASE("native reduction in FP16: accumulators that travel in FP32 are added as they are") {
  using fp16_model = zero::test::zoo::model<zero::fp16>;
  using precision = zero::Precision<zero::FP16>;
  auto const fp16_zoo = zero::test::zoo::make<zero::fp16>();
  for (int const ranks : {3, 5}) {  // 1 / ranks is no FP32 number: scaled ones would be rounded
    auto job = zero::laws::clipped_job(ranks, 2);
    for (job.stage = 0; job.stage < 2; ++job.stage) {
      CAPTURE(ranks);
      CAPTURE(job.stage);
      auto const native =
          zero::laws::train_stage<platform, fp16_model, precision, reduction>(job, fp16_zoo);
      auto const ordered = zero::laws::train_stage<platform, fp16_model, precision>(job, fp16_zoo);
      CHECK(native == ordered);
    }
  }
}

}  // namespace
