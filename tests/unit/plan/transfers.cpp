// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/transfers.hpp>

#include "random_plan.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>

namespace {

using zero::pool;
using zero::resource_kind;

/// Whether an access of the operation covers a pool.
bool covers(zero::access const& a, pool p) {
  switch (a.resource) {
    case resource_kind::parameters:
      return p == pool::parameters;
    case resource_kind::accumulators:
    case resource_kind::others_accumulators:
      return p == pool::gradients;
    case resource_kind::parameter_slot:
      return p == pool::parameter_slots;
    case resource_kind::gradient_slot:
      return p == pool::gradient_slots;
    case resource_kind::receive:
      return p == pool::receive;
    case resource_kind::optimizer_state:
      return p == pool::optimizer;
    case resource_kind::partials:
    case resource_kind::scalars:
      return p == pool::control;
  }
  return false;
}

bool declared(zero::operation const& op, pool p, bool write) {
  for (auto const& a : zero::accesses_of(op)) {
    if (covers(a, p) && (a.write || !write)) {
      return true;
    }
  }
  return false;
}

/// Calls `f(op)` for all operations of a plan.
template <class F>
void for_operations(zero::execution_plan const& plan, F f) {
  for (auto const& pass : plan.passes) {
    for (auto const& op : pass.operations) {
      f(op);
    }
  }
  for (auto const& op : plan.step.operations) {
    f(op);
  }
}

}  // namespace

TEST_CASE("what moves has been declared: read where it comes from, written where it arrives") {
  std::mt19937 random(37);
  for (int round = 0; round < 300; ++round) {
    auto const plan = zero::test::draw_case(random).plan();
    zero::rank_places const places(plan, 0);
    for_operations(plan, [&](zero::operation const& op) {
      for (auto const& t : zero::transfers_of(places, op)) {
        CHECK(declared(op, t.from.purpose, false));
        CHECK(declared(op, t.to.purpose, true));
      }
    });
  }
}

TEST_CASE("operations on the communication queue move something, and no others do") {
  std::mt19937 random(38);
  for (int round = 0; round < 300; ++round) {
    auto const plan = zero::test::draw_case(random).plan();
    zero::rank_places const places(plan, plan.config.world - 1);
    for_operations(plan, [&](zero::operation const& op) {
      bool const moves = zero::transfers_of(places, op).count > 0;
      CHECK(moves == (zero::queue_of(op.kind, plan.config.world) == zero::queue::comm));
    });
  }
}

TEST_CASE("what moves lies in its pools, on every rank, and ranks move equal parts") {
  std::mt19937 random(39);
  for (int round = 0; round < 200; ++round) {
    auto const plan = zero::test::draw_case(random).plan();
    auto const world = plan.config.world;
    for_operations(plan, [&](zero::operation const& op) {
      auto const first = zero::transfers_of(zero::rank_places(plan, 0), op);
      for (int rank = 0; rank < world; ++rank) {
        auto const mine = zero::transfers_of(zero::rank_places(plan, rank), op);
        REQUIRE(mine.count == first.count);
        for (int i = 0; i < mine.count; ++i) {
          auto const& t = mine.list[static_cast<std::size_t>(i)];
          CHECK(t.bytes == first.list[static_cast<std::size_t>(i)].bytes);
          auto const room = [&](zero::place const& p) {
            return plan.pools.row(p.purpose, p.in).bytes - p.offset;
          };
          std::int64_t sent = t.bytes;
          std::int64_t arrives = world * t.bytes;
          if (t.kind == zero::collective::all_to_others) {
            sent += (world - 1) * t.stride;
            arrives -= t.bytes;
          } else if (t.kind == zero::collective::reduce_scatter) {
            sent *= world;
          }
          CHECK(sent <= room(t.from));
          CHECK(arrives <= room(t.to));
        }
      }
    });
  }
}

TEST_CASE("every unit's accumulators hold the same multiple of the sum over the ranks") {
  for (int const world : {2, 3, 8}) {
    for (bool const native_accumulate : {false, true}) {
      for (bool const averages : {false, true}) {
        zero::plan_config const c{.world = world,
                                  .native_accumulate = native_accumulate,
                                  .native_reduction = averages,
                                  .averages_on_wire = averages};
        auto const kept = 1 / zero::kept_divisor(c);
        // gradients travel, and the sum undoes what their sending did
        CHECK(zero::prescale_of(c, false) * zero::undone_scale(c) == doctest::Approx(kept));
        // accumulators travel, and stay as they arrive
        CHECK(zero::prescale_of(c, true) == doctest::Approx(kept));
      }
    }
  }
}
