// SPDX-License-Identifier: Apache-2.0
#include "tests/laws/engine_numbers.hpp"
#include "tests/support/host_platform.hpp"
#include "tests/support/zoo.hpp"

#include <zero/core/dtype.hpp>
#include <zero/policy/precision.hpp>

#include <doctest/doctest.h>

namespace {

using platform = zero::test::host_platform;
using fp16_precision = zero::Precision<zero::FP16>;
using fp32_precision = zero::Precision<zero::FP32>;

template <class T>
using zoo = zero::test::zoo::model<T>;

TEST_CASE("FP16: each step equals the reference, exact gradients agree") {
  auto const model = zero::test::zoo::make<zero::fp16>();
  zero::laws::reference_law<platform, zoo<zero::fp16>, fp16_precision>(model);
  zero::laws::exact_gradients_agree<platform, zoo<zero::fp16>, fp16_precision>(model, {2, 3, 8});
  zero::laws::extreme_gradients_law<platform, zoo<zero::fp16>, fp16_precision>(model, 1e4F);
}

TEST_CASE("FP32: each step equals the reference, exact gradients agree") {
  auto const model = zero::test::zoo::make<float>();
  zero::laws::reference_law<platform, zoo<float>, fp32_precision>(model);
  zero::laws::exact_gradients_agree<platform, zoo<float>, fp32_precision>(model, {2, 3, 8});
}

}  // namespace
