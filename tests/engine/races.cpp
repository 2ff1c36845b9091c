// SPDX-License-Identifier: Apache-2.0
#include "tests/laws/engine_bits.hpp"
#include "tests/support/host_platform.hpp"
#include "tests/support/zoo.hpp"

#include <zero/core/dtype.hpp>
#include <zero/policy/per_unit.hpp>
#include <zero/policy/reduction.hpp>
#include <zero/policy/stage.hpp>

#include <doctest/doctest.h>

#include <cstdint>

// Few runs with much going on: for ThreadSanitizer, and for delays that move all queues against
// each other. What is raced for is poisoned.

namespace {

using platform = zero::test::host_platform;
using model = zero::test::zoo::model<zero::bf16>;

template <class... Policies>
void delays_change_nothing() {
  auto const zoo = zero::test::zoo::make<zero::bf16>();
  for (int stage = 0; stage < 4; ++stage) {
    CAPTURE(stage);
    zero::laws::training_job job = zero::laws::clipped_job(3, 2);
    job.stage = stage;
    job.gather_tied = true;
    job.prefetch_units = 2;
    job.piece_bytes = 1;
    auto const expected = zero::laws::train_stage<platform, model, Policies...>(job, zoo);
    job.poison = true;
    job.delays = true;
    for (int repeat = 0; repeat < 5; ++repeat) {
      job.prefetch_units = repeat % 3;
      auto const outcome = zero::laws::train_stage<platform, model, Policies...>(job, zoo);
      CHECK(outcome == expected);
    }
  }
}

TEST_CASE("delays change no bit of any stage") {
  delays_change_nothing();
}

TEST_CASE("delays change no bit of a mix of stages") {
  using mix = zero::PerUnit<zero::Default<zero::Stage<3>>,
                            zero::For<&model::embed, zero::Stage<2>>,
                            zero::For<&model::around, zero::Stage<1>>,
                            zero::For<&model::gates, zero::Stage<0>>>;
  using engine = zero::laws::engine_on<platform, model, mix>;
  auto const zoo = zero::test::zoo::make<zero::bf16>();
  for (std::int64_t const micro_steps : {1, 2}) {
    CAPTURE(micro_steps);
    zero::laws::training_job job = zero::laws::clipped_job(3, micro_steps);
    auto const expected = zero::laws::train<platform, engine>(job, zoo);
    zero::laws::check_clipped(expected);
    job.gather_tied = true;
    job.piece_bytes = 1;
    job.poison = true;
    job.delays = true;
    for (int repeat = 0; repeat < 5; ++repeat) {
      job.prefetch_units = repeat % 3;
      CHECK(zero::laws::train<platform, engine>(job, zoo) == expected);
    }
  }
}

TEST_CASE("delays change no bit under the communicator's own reduction") {
  delays_change_nothing<zero::Reduction<zero::Native>>();
}

}  // namespace
