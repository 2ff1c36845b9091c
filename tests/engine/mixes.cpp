// SPDX-License-Identifier: Apache-2.0
#include "tests/laws/engine_mixes.hpp"
#include "tests/support/host_platform.hpp"
#include "tests/support/stack.hpp"
#include "tests/support/zoo.hpp"

#include <zero/core/dtype.hpp>
#include <zero/policy/per_unit.hpp>
#include <zero/policy/stage.hpp>

#include <doctest/doctest.h>

#include <cstdint>

// Mixes of stages under the default policies: drawn ones, and some as a user writes them.

namespace {

using zero::Default;
using zero::For;
using zero::PerUnit;
using zero::Stage;
using platform = zero::test::host_platform;
using model = zero::test::zoo::model<zero::bf16>;

model const zoo = zero::test::zoo::make<zero::bf16>();

TEST_CASE("any mix gives the bits of its stages, clipping active and a step skipped") {
  for (int const ranks : {1, 2, 3, 5, 8}) {
    zero::laws::mixes_agree<platform>(zoo, ranks, 1000U + static_cast<unsigned>(ranks));
  }
}

TEST_CASE("the same for a plain stack of layers") {
  auto const stack = zero::test::stack::make<zero::bf16>(5003);
  for (int const ranks : {2, 3, 8}) {
    zero::laws::mixes_agree<platform>(stack, ranks, 2000U + static_cast<unsigned>(ranks));
  }
}

/// Trains an engine with `Mixed` and one with `Pure` beside it.
template <class Mixed, class Pure>
void mix_equals(std::int64_t micro_steps) {
  using mixed = zero::laws::engine_on<platform, model, Mixed>;
  using pure = zero::laws::engine_on<platform, model, Pure>;
  for (int const ranks : {1, 3, 4}) {
    CAPTURE(ranks);
    auto const job = zero::laws::clipped_job(ranks, micro_steps);
    auto const outcome = zero::laws::train<platform, mixed>(job, zoo);
    zero::laws::check_clipped(outcome);
    CHECK(outcome == zero::laws::train<platform, pure>(job, zoo));
  }
}

TEST_CASE("mixes by member pointer give the bits of the pure stages") {
  mix_equals<PerUnit<Default<Stage<3>>, For<&model::blocks, Stage<2>>>, Stage<3>>(3);
  mix_equals<PerUnit<For<&model::gates, Stage<1>>, For<&model::embed, Stage<1>>>, Stage<1>>(2);
  mix_equals<PerUnit<For<&model::embed, Stage<3>>,
                     For<&model::blocks, Stage<0>>,
                     Default<Stage<2>>,
                     For<&model::present, Stage<1>>>,
             Stage<1>>(1);
}

}  // namespace
