// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/operation.hpp>

#include <doctest/doctest.h>

#include <string>
#include <type_traits>

static_assert(std::is_trivially_copyable_v<zero::operation>);
static_assert(sizeof(zero::operation) <= 48, "operations travel inside queue bodies");

TEST_CASE("every kind of operation and resource has a name of its own") {
  for (int a = 0; a < zero::operation_kinds; ++a) {
    for (int b = 0; b < a; ++b) {
      CHECK(std::string(zero::name(static_cast<zero::operation_kind>(a))) !=
            zero::name(static_cast<zero::operation_kind>(b)));
    }
  }
  for (int a = 0; a < zero::resource_kinds; ++a) {
    for (int b = 0; b < a; ++b) {
      CHECK(std::string(zero::name(static_cast<zero::resource_kind>(a))) !=
            zero::name(static_cast<zero::resource_kind>(b)));
    }
  }
}

TEST_CASE(
    "every operation declares something, and what moves bytes between ranks is on the comm queue") {
  for (int k = 0; k < zero::operation_kinds; ++k) {
    zero::operation op;
    op.kind = static_cast<zero::operation_kind>(k);
    op.unit = 0;
    CHECK(zero::accesses_of(op).count >= 1);
  }
  using enum zero::operation_kind;
  for (auto const kind : {gather, exchange, reduce_scatter, gather_sums, publish, agree}) {
    CHECK(zero::queue_of(kind, 2) == zero::queue::comm);
  }
  CHECK(zero::queue_of(agree, 1) == zero::queue::compute);
  CHECK(zero::queue_of(sum, 2) == zero::queue::reduce);
}

TEST_CASE("a visit reads its slot where the unit is gathered, the parameters where it is not") {
  zero::operation op;
  op.kind = zero::operation_kind::acquire;
  op.unit = 3;
  CHECK(zero::accesses_of(op).begin()->resource == zero::resource_kind::parameters);
  op.parameter_slot = 1;
  CHECK(zero::accesses_of(op).begin()->resource == zero::resource_kind::parameter_slot);
  CHECK(zero::accesses_of(op).begin()->index == 1);
  op.gradient_slot = 0;
  CHECK(zero::accesses_of(op).count == 2);
}
