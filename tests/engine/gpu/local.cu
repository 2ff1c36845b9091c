// SPDX-License-Identifier: Apache-2.0
#include "tests/laws/engine_bits.hpp"
#include "tests/support/gpu_platform.cuh"
#include "tests/support/host_platform.hpp"
#include "tests/support/zoo.hpp"

#include <zero/core/dtype.hpp>
#include <zero/policy/per_unit.hpp>
#include <zero/policy/stage.hpp>

#include <doctest/doctest.h>

#include <cstdint>

// The laws of the host on a GPU: ranks as threads that share it. Gradients depend on every bit of
// every parameter that a rank was shown, so equal outcomes mean equal bits all the way.

namespace {

using platform = zero::test::local_gpu_platform;
using host = zero::test::host_platform;
using model = zero::test::zoo::model<zero::bf16>;

model const zoo = zero::test::zoo::make<zero::bf16>();

TEST_CASE("a GPU gives the host's bits in every stage, clipped and with a skipped step") {
  for (int const ranks : {1, 2, 3, 4, 8}) {
    for (std::int64_t const micro_steps : {1, 2}) {
      for (int stage = 0; stage < 4; ++stage) {
        CAPTURE(ranks);
        CAPTURE(micro_steps);
        CAPTURE(stage);
        auto job = zero::laws::clipped_job(ranks, micro_steps);
        job.stage = stage;
        auto const here = zero::laws::train_stage<platform>(job, zoo);
        zero::laws::check_clipped(here);
        CHECK(here == zero::laws::train_stage<host>(job, zoo));
      }
    }
  }
}

TEST_CASE("all stages give the same bits, clipping active and a step skipped") {
  for (int const ranks : {1, 2, 4}) {
    zero::laws::stages_agree<platform>(zoo, ranks);
  }
}

TEST_CASE("a GPU gives the host's bits of a mix of stages") {
  using mix = zero::PerUnit<zero::Default<zero::Stage<3>>,
                            zero::For<&model::embed, zero::Stage<2>>,
                            zero::For<&model::around, zero::Stage<1>>,
                            zero::For<&model::gates, zero::Stage<0>>>;
  using here = zero::laws::engine_on<platform, model, mix>;
  using there = zero::laws::engine_on<host, model, mix>;
  for (int const ranks : {1, 2, 3}) {
    for (std::int64_t const micro_steps : {1, 3}) {
      CAPTURE(ranks);
      CAPTURE(micro_steps);
      auto const job = zero::laws::clipped_job(ranks, micro_steps);
      CHECK(zero::laws::train<platform, here>(job, zoo) ==
            zero::laws::train<host, there>(job, zoo));
    }
  }
}

TEST_CASE("settings of the schedule, spinning kernels and poison change no bit") {
  for (int stage = 0; stage < 4; ++stage) {
    zero::laws::settings_change_nothing<platform>(zoo, 2, stage, 2);
  }
  zero::laws::settings_change_nothing<platform>(zoo, 4, 3, 1);
}

}  // namespace
