// SPDX-License-Identifier: Apache-2.0
#include "tests/laws/engine_bits.hpp"
#include "tests/support/half_step.hpp"
#include "tests/support/host_platform.hpp"
#include "tests/support/zoo.hpp"

#include <zero/core/dtype.hpp>
#include <zero/optim/lion.hpp>
#include <zero/optim/sgd.hpp>

#include <doctest/doctest.h>

// Optimizers with none, one and two moments, one of them a user's own.

namespace {

using platform = zero::test::host_platform;
using model = zero::test::zoo::model<zero::bf16>;

model const zoo = zero::test::zoo::make<zero::bf16>();

TEST_CASE_TEMPLATE("all stages give the same bits under",
                   Optimizer,
                   zero::Sgd,
                   zero::PlainSgd,
                   zero::Lion,
                   zero::test::HalfStep) {
  for (int const ranks : {1, 3, 4, 7}) {
    zero::laws::stages_agree<platform, model, Optimizer>(zoo, ranks);
  }
}

TEST_CASE_TEMPLATE("a skipped step leaves no trace under",
                   Optimizer,
                   zero::Sgd,
                   zero::test::HalfStep) {
  zero::laws::skipped_step_leaves_no_trace<platform, model, Optimizer>(zoo, 2);
}

}  // namespace
