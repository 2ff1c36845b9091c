// SPDX-License-Identifier: Apache-2.0
#include <zero/model/parameter.hpp>

#include <doctest/doctest.h>

#include <type_traits>

static_assert(std::is_trivially_copyable_v<zero::parameter>);
static_assert(std::is_aggregate_v<zero::parameter>);
static_assert(std::is_aggregate_v<zero::model_layout>);

namespace {

constexpr bool differs_in_everything() {
  zero::parameter const plain;
  auto changed = plain;
  bool differs = changed == plain;
  changed.elements = 1;
  differs = differs && !(changed == plain);
  changed = plain;
  changed.type = zero::dtype::bf16;
  differs = differs && !(changed == plain);
  changed = plain;
  changed.traits.frozen = true;
  differs = differs && !(changed == plain);
  changed = plain;
  changed.unit = 1;
  return differs && !(changed == plain);
}

static_assert(differs_in_everything());

}  // namespace

TEST_CASE("a default parameter is of no elements, trained, and of the first unit") {
  zero::parameter const p;
  CHECK(p.elements == 0);
  CHECK_FALSE(p.traits.frozen);
  CHECK(p.traits.weight_decay);
  CHECK(p.traits.lr_scale == 1.0);
  CHECK_FALSE(p.traits.resident);
  CHECK(p.unit == 0);
}

TEST_CASE("layouts are equal if their parameters and units are") {
  zero::model_layout a;
  a.parameters.push_back(zero::parameter{3, zero::dtype::fp16, {}, 0});
  a.units = 1;
  auto b = a;
  CHECK(a == b);
  b.units = 2;
  CHECK_FALSE(a == b);
  b = a;
  b.parameters[0].elements = 4;
  CHECK_FALSE(a == b);
}
