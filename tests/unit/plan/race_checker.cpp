// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/race_checker.hpp>

#include "random_plan.hpp"

#include <zero/plan/print.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <random>
#include <string>

namespace {

using zero::operation_kind;
using zero::queue;
using zero::resource_kind;

zero::race_report replay(zero::execution_plan const& plan,
                         unsigned seed,
                         zero::wait_family const* drop) {
  zero::race_checker checker(plan);
  if (drop != nullptr) {
    checker.drop(*drop);
  }
  std::mt19937 random(seed);
  zero::test::draw_run(random, 4, [&](zero::pass_kind kind, bool step) {
    checker.run(step ? plan.step : plan.passes[static_cast<std::size_t>(zero::index_of(kind))]);
  });
  return checker.report();
}

TEST_CASE("no legal sequence of segments of any plan has a race") {
  std::mt19937 random(31);
  std::int64_t waits = 0;
  for (int round = 0; round < 1000; ++round) {
    auto const plan = zero::test::draw_case(random).plan();
    for (unsigned seed = 0; seed < 3; ++seed) {
      auto const report = replay(plan, seed, nullptr);
      CHECK(report.races == 0);
      waits += report.waits;
    }
  }
  CHECK(waits > 0);
}

TEST_CASE("a sequence stays free of races across the ends of captured graphs") {
  std::mt19937 random(32);
  for (int round = 0; round < 200; ++round) {
    auto const plan = zero::test::draw_case(random).plan();
    zero::race_checker checker(plan);
    for (int i = 0; i < 3; ++i) {
      checker.run(plan.passes[static_cast<std::size_t>(zero::index_of({true, true, true, i > 0}))]);
      checker.join();
      checker.run(plan.step);
      checker.join();
    }
    CHECK(checker.report().races == 0);
  }
}

// A wait that was really needed, left out, is seen: the tracker issues only waits that nothing
// implies, so each dropped one leaves a conflicting pair unordered, unless the awaited access was a
// read-after-read.
TEST_CASE("leaving out a family of waits that orders a write is seen as a race") {
  std::mt19937 random(33);
  std::array<int, zero::resource_kinds * zero::queue_count * zero::queue_count> seen{};
  for (int round = 0; round < 600; ++round) {
    auto const plan = zero::test::draw_case(random).plan();
    for (int r = 0; r < zero::resource_kinds; ++r) {
      for (int w = 0; w < zero::queue_count; ++w) {
        for (int s = 0; s < zero::queue_count; ++s) {
          zero::wait_family const family{
              static_cast<resource_kind>(r), static_cast<queue>(w), static_cast<queue>(s)};
          auto const report = replay(plan, 7, &family);
          if (report.dropped > 0) {
            CAPTURE(std::string(zero::name(family.resource)));
            CAPTURE(w);
            CAPTURE(s);
            CHECK(report.races > 0);
            seen[static_cast<std::size_t>((r * zero::queue_count + w) * zero::queue_count + s)] = 1;
          } else {
            CHECK(report.races == 0);
          }
        }
      }
    }
  }
  int families = 0;
  for (auto const s : seen) {
    families += s;
  }
  CHECK(families >= 9);  // the mutants are not vacuous: so many families of waits exist
  auto const was_seen = [&](resource_kind r, queue waiter, queue source) {
    return seen[static_cast<std::size_t>(
               (static_cast<int>(r) * zero::queue_count + static_cast<int>(waiter)) *
                   zero::queue_count +
               static_cast<int>(source))] != 0;
  };
  // What follows from reading the own part where it lies.
  CHECK(was_seen(resource_kind::gradient_slot, queue::compute, queue::reduce));
  CHECK(was_seen(resource_kind::others_accumulators, queue::comm, queue::reduce));
}

constexpr bool races_in_constant_expression() {
  std::vector<zero::parameter> parameters;
  for (std::int32_t u = 0; u < 4; ++u) {
    zero::parameter p;
    p.elements = 5000;
    p.type = zero::dtype::bf16;
    p.unit = u;
    parameters.push_back(p);
  }
  zero::program program;
  for (std::int32_t u = 0; u < 4; ++u) {
    program.forward.push_back({u, zero::phase::forward, true});
    program.forward.push_back({u, zero::phase::forward, false});
  }
  for (std::int32_t u = 4; u-- > 0;) {
    program.backward.push_back({u, zero::phase::backward, true});
    program.backward.push_back({u, zero::phase::backward, false});
  }
  zero::plan_config config;
  config.world = 3;
  config.stage = 3;
  auto const plan = zero::make_plan(parameters, 4, program, config);
  zero::race_checker checker(plan);
  checker.run(plan.passes[static_cast<std::size_t>(zero::index_of({true, true, true, true}))]);
  checker.run(plan.step);
  return checker.report().races != 0;
}

static_assert(!races_in_constant_expression());

}  // namespace
