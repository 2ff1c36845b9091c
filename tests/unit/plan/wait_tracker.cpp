// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/wait_tracker.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <vector>

namespace {

using zero::operation_kind;
using zero::queue;

zero::operation make(operation_kind kind, std::int32_t unit, std::int16_t slot = -1) {
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

TEST_CASE("after a join nothing waits for what was before") {
  zero::wait_tracker tracker({1, 1, 0});
  issue(tracker, make(operation_kind::gather, 0, 0), queue::comm);
  tracker.join();
  CHECK(issue(tracker, make(operation_kind::acquire, 0, 0), queue::compute) == 0);
}

}  // namespace
