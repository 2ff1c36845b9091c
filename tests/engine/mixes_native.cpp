// SPDX-License-Identifier: Apache-2.0
#include "tests/laws/engine_mixes.hpp"
#include "tests/support/host_platform.hpp"
#include "tests/support/zoo.hpp"

#include <zero/core/dtype.hpp>
#include <zero/policy/accumulate.hpp>
#include <zero/policy/precision.hpp>
#include <zero/policy/reduction.hpp>

#include <doctest/doctest.h>

// Mixes under the communicator's own sum. In FP16 contributions are averaged on the wire, but not
// where accumulators travel: whoever undoes the mean must do it unit by unit.

namespace {

using platform = zero::test::host_platform;
using precision = zero::Precision<zero::FP16>;
using reduction = zero::Reduction<zero::Native>;
using accumulate = zero::Accumulate<zero::Native>;
using model = zero::test::zoo::model<zero::fp16>;

model const zoo = zero::test::zoo::make<zero::fp16>();

TEST_CASE("native reduction in FP16: each step of a mix equals the reference") {
  zero::laws::mixes_equal_reference<platform, model, precision, reduction>(zoo, 31);
}

TEST_CASE("native reduction in FP16: exact gradients agree in any mix") {
  zero::laws::exact_mixes_agree<platform, model, precision, reduction>(zoo, {2, 4, 8}, 32);
}

TEST_CASE("native reduction in FP16: any mix gives the bits of its stages") {
  for (int const ranks : {2, 3, 5}) {
    zero::laws::mixes_agree<platform, model, precision, reduction>(zoo, ranks, 33);
  }
}

TEST_CASE("native reduction of native accumulators in FP16: each step equals the reference") {
  zero::laws::mixes_equal_reference<platform, model, precision, reduction, accumulate>(zoo, 34);
}

TEST_CASE("native reduction in BF16: each step of a mix equals the reference") {
  using bf16_model = zero::test::zoo::model<zero::bf16>;
  auto const bf16_zoo = zero::test::zoo::make<zero::bf16>();
  zero::laws::mixes_equal_reference<platform, bf16_model, reduction>(bf16_zoo, 35);
}

}  // namespace
