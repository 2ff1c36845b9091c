// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/schedule.hpp>

#include "random_plan.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace {

using zero::operation_kind;

TEST_CASE("a pass visits its program, and every point starts with its own acquire or release") {
  std::mt19937 random(21);
  for (int round = 0; round < 300; ++round) {
    auto const plan = zero::test::draw_case(random).plan();
    for (int i = 0; i < zero::pass_kinds; ++i) {
      auto const& s = plan.passes[static_cast<std::size_t>(i)];
      REQUIRE(s.starts.size() == s.tokens.size() + 3);
      CHECK(s.starts.front() == 0);
      CHECK(s.starts.back() == static_cast<std::int32_t>(s.operations.size()));
      for (std::size_t t = 0; t < s.tokens.size(); ++t) {
        REQUIRE(s.starts[t + 1] < s.starts[t + 2]);
        auto const& op = s.operations[static_cast<std::size_t>(s.starts[t + 1])];
        CHECK(op.kind == (s.tokens[t].open ? operation_kind::acquire : operation_kind::release));
        CHECK(op.unit == s.tokens[t].unit);
      }
    }
  }
}

TEST_CASE("a slot holds the unit that is visited: gathered before, not given away meanwhile") {
  std::mt19937 random(22);
  for (int round = 0; round < 500; ++round) {
    auto const plan = zero::test::draw_case(random).plan();
    for (auto const& pass : plan.passes) {
      std::vector<std::int32_t> holder(plan.slots.parameters.slot_bytes.size(), -1);
      std::vector<int> users(plan.slots.parameters.slot_bytes.size(), 0);
      for (auto const& op : pass.operations) {
        auto const slot = static_cast<std::size_t>(op.parameter_slot < 0 ? 0 : op.parameter_slot);
        if (op.kind == operation_kind::gather) {
          CHECK(users[slot] == 0);
          holder[slot] = op.unit;
          CHECK(plan.slots.parameters.slot_bytes[slot] >=
                plan.layout.units[static_cast<std::size_t>(op.unit)].parameter_slot_bytes);
        } else if (op.kind == operation_kind::acquire && op.parameter_slot >= 0) {
          CHECK(holder[slot] == op.unit);
          ++users[slot];
        } else if (op.kind == operation_kind::release && op.parameter_slot >= 0) {
          CHECK(holder[slot] == op.unit);
          --users[slot];
        }
      }
    }
  }
}

TEST_CASE(
    "every shard element is exchanged and summed exactly once a reduction, in whole norm blocks") {
  std::mt19937 random(23);
  for (int round = 0; round < 300; ++round) {
    auto c = zero::test::draw_case(random);
    c.config.native_reduction = false;
    auto const plan = c.plan();
    for (int i = 0; i < 8; ++i) {
      auto const kind = zero::pass_at(i);
      auto const& pass = plan.passes[static_cast<std::size_t>(i)];
      std::vector<std::int64_t> exchanged(plan.layout.ranges.size(), 0);
      std::vector<std::int64_t> summed(plan.layout.ranges.size(), 0);
      std::int32_t slot = -1;
      for (auto const& op : pass.operations) {
        if (op.kind == operation_kind::exchange || op.kind == operation_kind::sum) {
          auto& at =
              (op.kind == operation_kind::sum ? summed
                                              : exchanged)[static_cast<std::size_t>(op.range)];
          CHECK(op.piece_begin == at);
          // the accumulators, or the slot of the unit's gradient: of the exchange and of its sum
          CHECK((op.gradient_slot < 0) == op.has(zero::flag_wide));
          CHECK(op.gradient_slot == (op.kind == operation_kind::sum ? slot : op.gradient_slot));
          slot = op.gradient_slot;
          CHECK(op.piece_begin % zero::norm_block == 0);
          at = op.piece_end;
        }
      }
      for (std::size_t r = 0; r < plan.layout.ranges.size(); ++r) {
        auto const& range = plan.layout.ranges[r];
        auto const& unit = plan.layout.units[static_cast<std::size_t>(range.unit)];
        bool const reduces =
            plan.config.world > 1 && !range.frozen && (unit.in.gradients.sharded() || kind.last);
        CHECK(exchanged[r] == (reduces ? range.shard() : 0));
        CHECK(summed[r] == exchanged[r]);
      }
    }
  }
}

TEST_CASE(
    "updated parameters are published once, in the first pass after a step, before their visit") {
  std::mt19937 random(24);
  for (int round = 0; round < 300; ++round) {
    auto const plan = zero::test::draw_case(random).plan();
    for (int i = 0; i < zero::pass_kinds; ++i) {
      auto const kind = zero::pass_at(i);
      std::vector<int> published(plan.layout.units.size(), 0);
      for (auto const& op : plan.passes[static_cast<std::size_t>(i)].operations) {
        if (op.kind == operation_kind::publish) {
          ++published[static_cast<std::size_t>(op.unit)];
        }
      }
      for (std::size_t u = 0; u < plan.layout.units.size(); ++u) {
        auto const& unit = plan.layout.units[u];
        bool const needs =
            kind.fresh && unit.trained && unit.in.state.sharded() && !unit.in.parameters.sharded();
        CHECK(published[u] == (needs ? 1 : 0));
      }
    }
  }
}

TEST_CASE("the step updates every trained unit once and asks for one agreement") {
  std::mt19937 random(25);
  for (int round = 0; round < 200; ++round) {
    auto const plan = zero::test::draw_case(random).plan();
    std::vector<int> updated(plan.layout.units.size(), 0);
    int agreements = 0;
    for (auto const& op : plan.step.operations) {
      agreements += op.kind == operation_kind::agree ? 1 : 0;
      if (op.kind == operation_kind::update) {
        CHECK(agreements == 1);
        ++updated[static_cast<std::size_t>(op.unit)];
      }
    }
    CHECK(agreements == 1);
    for (std::size_t u = 0; u < plan.layout.units.size(); ++u) {
      CHECK(updated[u] == (plan.layout.units[u].trained ? 1 : 0));
    }
  }
}

}  // namespace
