// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/wait_tracker.hpp>

#include "random_plan.hpp"

#include <zero/plan/race_checker.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace {

using zero::operation_kind;
using zero::queue;

zero::operation make(operation_kind kind, std::int32_t unit, std::int32_t slot = -1) {
  zero::operation op;
  op.kind = kind;
  op.unit = unit;
  op.parameter_slot = slot;
  return op;
}

/// Issues an operation and returns how many waits it needed.
int issue(zero::wait_tracker& tracker, zero::operation const& op, queue q) {
  int waits = 0;
  tracker.before(op, q, [&](zero::access const&, queue, std::int32_t) {
    ++waits;
    return true;
  });
  tracker.after(op, q, [](std::int32_t) {});
  return waits;
}

TEST_CASE("resources have numbers of their own") {
  zero::resource_index const index{3, 2, 4};
  std::set<std::int32_t> numbers;
  auto add = [&](zero::resource_kind kind, int count) {
    for (std::int32_t i = 0; i < count; ++i) {
      CHECK(numbers.insert(index.of({kind, i, false})).second);
    }
  };
  add(zero::resource_kind::parameters, 3);
  add(zero::resource_kind::accumulators, 3);
  add(zero::resource_kind::others_accumulators, 3);
  add(zero::resource_kind::optimizer_state, 3);
  add(zero::resource_kind::parameter_slot, 2);
  add(zero::resource_kind::gradient_slot, 4);
  add(zero::resource_kind::receive, 2);
  add(zero::resource_kind::partials, 1);
  add(zero::resource_kind::scalars, 1);
  CHECK(static_cast<std::int32_t>(numbers.size()) == index.resources());
  CHECK(*numbers.rbegin() == index.resources() - 1);
}

TEST_CASE("a visit waits for its gather once; the next gather waits for the visit's release") {
  zero::wait_tracker tracker({2, 1, 0});
  CHECK(issue(tracker, make(operation_kind::gather, 0, 0), queue::comm) == 0);
  CHECK(issue(tracker, make(operation_kind::acquire, 0, 0), queue::compute) == 1);
  CHECK(issue(tracker, make(operation_kind::acquire, 0, 0), queue::compute) == 0);
  CHECK(issue(tracker, make(operation_kind::release, 0, 0), queue::compute) == 0);
  CHECK(issue(tracker, make(operation_kind::gather, 1, 0), queue::comm) == 1);
}

TEST_CASE("readers on different queues do not wait for each other") {
  zero::wait_tracker tracker({1, 2, 0});
  CHECK(issue(tracker, make(operation_kind::gather, 0, 0), queue::comm) == 0);
  CHECK(issue(tracker, make(operation_kind::acquire, 0), queue::compute) == 0);
  CHECK(issue(tracker, make(operation_kind::release, 0), queue::compute) == 0);
  CHECK(issue(tracker, make(operation_kind::gather, 0, 1), queue::comm) == 0);
}

// Stages 0 and 1 with several micro-steps: the accumulators travel and are summed in place. Only
// the other ranks' shards travel and only the own one is written, so that pieces need not take
// turns.
TEST_CASE("no exchange waits for a sum, but for the one that has to empty its receive buffer") {
  zero::test::random_case c;
  c.units = 1;
  zero::parameter p;
  p.elements = 100'000;
  p.type = zero::dtype::bf16;
  c.parameters.push_back(p);
  zero::test::visit(c.program.forward, zero::phase::forward, 0);
  zero::test::visit(c.program.backward, zero::phase::backward, 0);
  c.config.world = 2;
  c.config.stage = 1;
  c.config.schedule.piece_bytes = 1;
  c.config.schedule.residency_bytes = 0;
  auto const plan = c.plan();
  zero::wait_tracker tracker(zero::race_checker::index_for(plan));
  int exchanges = 0;
  for (auto const kind : {zero::pass_kind{true, true, false, false}, {true, false, true, false}}) {
    for (auto const& op : plan.passes[static_cast<std::size_t>(zero::index_of(kind))].operations) {
      auto const q = zero::queue_of(op.kind, c.config.world);
      std::vector<zero::resource_kind> waits;
      tracker.before(op, q, [&](zero::access const& a, queue, std::int32_t) {
        waits.push_back(a.resource);
        return true;
      });
      tracker.after(op, q, [](std::int32_t) {});
      if (op.kind == operation_kind::exchange) {
        using enum zero::resource_kind;
        CHECK(waits == (exchanges == 0   ? std::vector{others_accumulators}
                        : exchanges == 1 ? std::vector<zero::resource_kind>{}
                                         : std::vector{receive}));
        ++exchanges;
      }
    }
  }
  CHECK(exchanges == 25);
}

TEST_CASE("a gradient slot is given away after the sum that reads it") {
  zero::wait_tracker tracker({1, 0, 1});
  auto exchange = make(operation_kind::exchange, 0);
  exchange.gradient_slot = 0;
  exchange.receive = 0;
  auto sum = exchange;
  sum.kind = operation_kind::sum;
  auto acquire = make(operation_kind::acquire, 0);
  acquire.gradient_slot = 0;
  issue(tracker, exchange, queue::comm);
  issue(tracker, sum, queue::reduce);
  std::vector<queue> sources;
  tracker.before(acquire, queue::compute, [&](zero::access const&, queue source, std::int32_t) {
    sources.push_back(source);
    return true;
  });
  CHECK(sources == std::vector{queue::reduce});  // which has waited for the exchange
}

TEST_CASE("after a join nothing waits for what was before") {
  zero::wait_tracker tracker({1, 1, 0});
  issue(tracker, make(operation_kind::gather, 0, 0), queue::comm);
  tracker.join();
  CHECK(issue(tracker, make(operation_kind::acquire, 0, 0), queue::compute) == 0);
}

}  // namespace
