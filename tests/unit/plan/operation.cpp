// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/operation.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

static_assert(std::is_trivially_copyable_v<zero::operation>);
static_assert(sizeof(zero::operation) <= 48, "operations travel inside queue bodies");
// As many slots as units.
static_assert(std::numeric_limits<decltype(zero::operation::unit)>::max() ==
              std::numeric_limits<decltype(zero::operation::parameter_slot)>::max());
static_assert(std::numeric_limits<decltype(zero::operation::unit)>::max() ==
              std::numeric_limits<decltype(zero::operation::gradient_slot)>::max());

namespace {

enum class does : std::uint8_t { nothing, read, write };

does to(zero::operation const& op, zero::resource_kind resource) {
  for (auto const& a : zero::accesses_of(op)) {
    if (a.resource == resource) {
      return a.write ? does::write : does::read;
    }
  }
  return does::nothing;
}

}  // namespace

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

TEST_CASE("the own part of a gradient is read by the sum, where it lies") {
  using enum zero::resource_kind;
  zero::operation exchange;
  exchange.kind = zero::operation_kind::exchange;
  exchange.unit = 0;
  exchange.receive = 1;
  auto sum = exchange;
  sum.kind = zero::operation_kind::sum;
  SUBCASE("in the gradient slot") {
    exchange.gradient_slot = 2;
    sum.gradient_slot = 2;
    CHECK(to(exchange, gradient_slot) == does::read);
    CHECK(to(sum, gradient_slot) == does::read);
    CHECK(to(exchange, accumulators) == does::nothing);
    CHECK(to(exchange, others_accumulators) == does::nothing);
    CHECK(to(sum, others_accumulators) == does::nothing);
  }
  SUBCASE("in the accumulators, of which only the other ranks' shards travel") {
    exchange.flags = zero::flag_wide;
    sum.flags = zero::flag_wide;
    CHECK(to(exchange, gradient_slot) == does::nothing);
    CHECK(to(sum, gradient_slot) == does::nothing);
    CHECK(to(exchange, accumulators) == does::nothing);
    CHECK(to(exchange, others_accumulators) == does::read);
    CHECK(to(sum, others_accumulators) == does::read);  // by the other ranks' sums
  }
  CHECK(to(exchange, receive) == does::write);
  CHECK(to(sum, receive) == does::read);
  CHECK(to(sum, accumulators) == does::write);
}

TEST_CASE("the other ranks' shards of the accumulators are used where a rank holds them") {
  using enum zero::resource_kind;
  zero::operation op;
  op.unit = 0;
  for (auto const kind : {zero::operation_kind::accumulate, zero::operation_kind::update}) {
    op.kind = kind;
    op.flags = 0;
    CHECK(to(op, others_accumulators) == does::nothing);
    op.flags = zero::flag_whole;
    CHECK(to(op, others_accumulators) == to(op, accumulators));
  }
  op.kind = zero::operation_kind::gather_sums;
  CHECK(to(op, accumulators) == does::read);
  CHECK(to(op, others_accumulators) == does::write);
  op.kind = zero::operation_kind::reduce_scatter;
  op.flags = zero::flag_wide;
  CHECK(to(op, accumulators) == does::write);
  CHECK(to(op, others_accumulators) == does::write);
}
