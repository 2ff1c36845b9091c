// SPDX-License-Identifier: Apache-2.0
#include "tests/laws/engine_numbers.hpp"
#include "tests/support/host_platform.hpp"
#include "tests/support/zoo.hpp"

#include <zero/core/dtype.hpp>
#include <zero/policy/accumulate.hpp>
#include <zero/policy/precision.hpp>
#include <zero/policy/reduction.hpp>

#include <doctest/doctest.h>

namespace {

using platform = zero::test::host_platform;
using fp16_precision = zero::Precision<zero::FP16>;
using accumulate = zero::Accumulate<zero::Native>;
using reduction = zero::Reduction<zero::Native>;

template <class T>
using zoo = zero::test::zoo::model<T>;

TEST_CASE("native accumulators: each step equals the reference, exact gradients agree") {
  auto const model = zero::test::zoo::make<zero::bf16>();
  zero::laws::reference_law<platform, zoo<zero::bf16>, accumulate>(model);
  zero::laws::exact_gradients_agree<platform, zoo<zero::bf16>, accumulate>(model, {2, 3, 8});
}

TEST_CASE("native reduction: each step equals the reference, exact gradients agree") {
  auto const model = zero::test::zoo::make<zero::bf16>();
  zero::laws::reference_law<platform, zoo<zero::bf16>, reduction>(model);
  zero::laws::exact_gradients_agree<platform, zoo<zero::bf16>, reduction>(model, {2, 3, 8});
}

TEST_CASE("native reduction in FP16 scales each contribution before it is added") {
  auto const model = zero::test::zoo::make<zero::fp16>();
  zero::laws::reference_law<platform, zoo<zero::fp16>, fp16_precision, reduction>(model);
  zero::laws::exact_gradients_agree<platform, zoo<zero::fp16>, fp16_precision, reduction>(
      model, {2, 4, 8});
}

}  // namespace
