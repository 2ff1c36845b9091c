// SPDX-License-Identifier: Apache-2.0
#include <zero/optim/step_control.hpp>

#include <doctest/doctest.h>

#include <type_traits>

static_assert(std::is_trivially_copyable_v<zero::step_control>);
static_assert(std::is_aggregate_v<zero::step_control>);

TEST_CASE("unless said otherwise a step neither scales nor clips") {
  zero::step_control const control{.lr = 0.5};
  CHECK(control.lr == 0.5);
  CHECK(control.gradient_scale == 1);
  CHECK(control.device_gradient_scale == nullptr);
  CHECK(control.mean == 1);
  CHECK(control.clip_norm == 0);
}
