// SPDX-License-Identifier: Apache-2.0
#include "tests/laws/engine_mixes.hpp"
#include "tests/support/host_platform.hpp"
#include "tests/support/zoo.hpp"

#include <zero/core/dtype.hpp>
#include <zero/policy/accumulate.hpp>
#include <zero/policy/precision.hpp>

#include <doctest/doctest.h>

// Mixes of stages in the other types of parameters and accumulators.

namespace {

using platform = zero::test::host_platform;

template <class T, class... Policies>
void mixes_agree(unsigned seed) {
  using model = zero::test::zoo::model<T>;
  auto const zoo = zero::test::zoo::make<T>();
  for (int const ranks : {1, 2, 3, 5, 8}) {
    zero::laws::mixes_agree<platform, model, Policies...>(
        zoo, ranks, seed + static_cast<unsigned>(ranks));
  }
}

TEST_CASE("FP32: any mix gives the bits of its stages") {
  mixes_agree<float, zero::Precision<zero::FP32>>(3000);
}

TEST_CASE("FP16: any mix gives the bits of its stages") {
  mixes_agree<zero::fp16, zero::Precision<zero::FP16>>(4000);
}

TEST_CASE("native accumulators: any mix gives the bits of its stages") {
  mixes_agree<zero::bf16, zero::Accumulate<zero::Native>>(5000);
}

TEST_CASE("native accumulators: each step of a mix equals the reference") {
  using model = zero::test::zoo::model<zero::bf16>;
  auto const zoo = zero::test::zoo::make<zero::bf16>();
  zero::laws::mixes_equal_reference<platform, model, zero::Accumulate<zero::Native>>(zoo, 36);
}

}  // namespace
