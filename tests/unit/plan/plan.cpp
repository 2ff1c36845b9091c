// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/plan.hpp>

#include "random_plan.hpp"

#include <zero/core/error.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace {

/// 256 layers of six tensors between an embedding and a head: within the compilers' default limits.
constexpr zero::execution_plan deep_plan(int world, int stage) {
  std::vector<zero::parameter> parameters;
  parameters.reserve(256 * 6 + 2);
  zero::program program;
  program.forward.reserve(2 * 258);
  program.backward.reserve(2 * 258);
  for (std::int32_t u = 0; u < 258; ++u) {
    bool const block = u > 0 && u < 257;
    for (int i = 0; i < (block ? 6 : 1); ++i) {
      zero::parameter p;
      p.elements = block ? 1024 * 1024 : 4 * 1024 * 1024;
      p.type = zero::dtype::bf16;
      p.unit = u;
      parameters.push_back(p);
    }
    program.forward.push_back({u, zero::phase::forward, true});
    program.forward.push_back({u, zero::phase::forward, false});
  }
  for (std::int32_t u = 258; u-- > 0;) {
    program.backward.push_back({u, zero::phase::backward, true});
    program.backward.push_back({u, zero::phase::backward, false});
  }
  zero::plan_config config;
  config.world = world;
  config.stage = stage;
  return zero::make_memory_plan(static_cast<std::vector<zero::parameter>&&>(parameters),
                                258,
                                static_cast<zero::program&&>(program),
                                config);
}

constexpr std::int64_t psi = std::int64_t{256} * 6 * 1024 * 1024 + 2 * 4 * 1024 * 1024;

static_assert(deep_plan(8, 3).pools.rows[0].bytes == 2 * psi / 8);
static_assert(deep_plan(8, 1).pools.rows[2].bytes == 12 * psi / 8);

TEST_CASE("a plan is the same every time it is made") {
  std::mt19937 random(61);
  for (int round = 0; round < 50; ++round) {
    auto const c = zero::test::draw_case(random);
    auto const a = c.plan();
    auto const b = c.plan();
    CHECK(a.pools == b.pools);
    REQUIRE(a.passes.size() == b.passes.size());
    for (std::size_t i = 0; i < a.passes.size(); ++i) {
      CHECK(a.passes[i].operations == b.passes[i].operations);
    }
    CHECK(a.step.operations == b.step.operations);
  }
}

TEST_CASE("a plan fits where its pools and the user's bytes do") {
  constexpr auto bytes = deep_plan(8, 3).device_bytes();
  static_assert(deep_plan(8, 3).fits(bytes, 0));
  static_assert(!deep_plan(8, 3).fits(bytes - 1, 0));
  static_assert(!deep_plan(8, 3).fits(bytes + 99, 100));
  static_assert(deep_plan(8, 3).fits(bytes + 100, 100));
}

TEST_CASE("settings out of range are refused with a sentence that names them") {
  auto refused = [](zero::plan_config const& config, char const* sentence) {
    zero::test::random_case c;
    c.units = 1;
    c.config = config;
    zero::test::visit(c.program.forward, zero::phase::forward, 0);
    zero::test::visit(c.program.backward, zero::phase::backward, 0);
    CHECK_THROWS_WITH_AS(static_cast<void>(c.plan()), sentence, zero::logic_error);
  };
  refused({.world = 0}, "zero::plan: the number of ranks must be at least 1");
  refused({.stage = 4}, "zero::plan: the stage must be 0, 1, 2 or 3");
  refused({.moments = -1}, "zero::plan: an optimizer keeps 0, 1 or 2 moments");
  refused({.moments = 3}, "zero::plan: an optimizer keeps 0, 1 or 2 moments");
  refused({.world = 2049}, "zero::plan: at most 2048 ranks are supported");
  refused({.schedule = {.prefetch_units = -1}},
          "zero::plan: prefetch_units must be from 0 to 1024");
  refused({.schedule = {.prefetch_units = 1025}},
          "zero::plan: prefetch_units must be from 0 to 1024");
  refused({.schedule = {.piece_bytes = 0}}, "zero::plan: piece_bytes must be positive");
  refused({.schedule = {.residency_bytes = -1}},
          "zero::plan: residency_bytes must not be negative");
}

TEST_CASE("learning-rate scales that make no sense are refused") {
  for (double const scale :
       {-1e-9, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    zero::test::random_case c;
    c.units = 1;
    c.parameters.resize(2);
    c.parameters[1].traits.lr_scale = scale;
    zero::test::visit(c.program.forward, zero::phase::forward, 0);
    zero::test::visit(c.program.backward, zero::phase::backward, 0);
    CHECK_THROWS_WITH_AS(static_cast<void>(c.plan()),
                         "zero::plan: the lr_scale of a parameter must be finite and not negative; "
                         "freeze what is not to be trained",
                         zero::logic_error);
    c.parameters[1].traits.lr_scale = 0;
    CHECK_NOTHROW(static_cast<void>(c.plan()));
  }
}

TEST_CASE("models whose bytes would not fit 63 bits are refused, and no count is ever negative") {
  for (int bits = 30; bits < 63; ++bits) {
    for (int const world : {1, 3, 2048}) {
      for (int const parameters : {1, 2, 5}) {
        for (int stage = 0; stage <= 3; ++stage) {
          CAPTURE(bits);
          CAPTURE(world);
          zero::test::random_case c;
          c.units = 2;
          for (int i = 0; i < parameters; ++i) {
            zero::parameter p;
            p.elements = (std::int64_t{1} << bits) - 3;
            p.type = zero::dtype::fp32;
            p.unit = i % 2 == 1 && parameters == 2 ? 1 : 0;
            c.parameters.push_back(p);
          }
          zero::test::visit(c.program.forward, zero::phase::forward, 0);
          zero::test::visit(c.program.forward, zero::phase::forward, 1);
          zero::test::visit(c.program.backward, zero::phase::backward, 1);
          zero::test::visit(c.program.backward, zero::phase::backward, 0);
          c.config.world = world;
          c.config.stage = stage;
          c.config.schedule.prefetch_units = 1024;
          try {
            auto const plan = zero::make_memory_plan(c.parameters, c.units, c.program, c.config);
            CHECK(bits <= 48);
            CHECK(plan.device_bytes() > 0);
            CHECK(plan.formula_bytes() > 0);
            CHECK_FALSE((bits >= 40 && plan.fits(std::int64_t{1} << 30, 0)));
            for (auto const& row : plan.pools.rows) {
              CHECK(row.bytes >= 0);
              CHECK(row.formula >= 0);
            }
          } catch (zero::logic_error const& error) {
            CHECK(bits >= 45);
            CHECK(std::string(error.what()).find("more than 2^48 elements") != std::string::npos);
          }
        }
      }
    }
  }
}

TEST_CASE("a stage for each unit, or for none") {
  zero::test::random_case c;
  c.units = 2;
  c.parameters.resize(2);
  c.parameters[1].unit = 1;
  zero::test::visit(c.program.forward, zero::phase::forward, 0);
  zero::test::visit(c.program.forward, zero::phase::forward, 1);
  c.config.unit_stages = {2};
  CHECK_THROWS_WITH_AS(
      static_cast<void>(c.plan()),
      "zero::plan: unit_stages needs a stage for each of the model's units, or none",
      zero::logic_error);
  c.config.unit_stages = {2, 4};
  CHECK_THROWS_WITH_AS(static_cast<void>(c.plan()),
                       "zero::plan: the stage of a unit must be 0, 1, 2 or 3",
                       zero::logic_error);
}

TEST_CASE("a parameter of more than 2^31 elements is planned in 64 bits") {
  zero::test::random_case c;
  c.units = 1;
  zero::parameter p;
  p.elements = (std::int64_t{1} << 33) + 5;
  p.type = zero::dtype::bf16;
  c.parameters.push_back(p);
  zero::test::visit(c.program.forward, zero::phase::forward, 0);
  zero::test::visit(c.program.backward, zero::phase::backward, 0);
  c.config.world = 3;
  c.config.stage = 3;
  auto const plan = c.plan();
  auto const& range = plan.layout.ranges.front();
  CHECK(range.payload == p.elements);
  CHECK(range.shard() * 3 >= p.elements);
  CHECK(range.shard() * 3 - p.elements < 3 * 256);
  CHECK(plan.pools.rows[static_cast<std::size_t>(zero::pool::optimizer)].bytes ==
        12 * range.shard());
}

}  // namespace
