// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/places.hpp>

#include "random_plan.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>

namespace {

/// Whether `bytes` from a place on lie in its pool.
bool inside(zero::execution_plan const& plan, zero::place const& p, std::int64_t bytes) {
  return p.offset >= 0 && p.offset + bytes <= plan.pools.row(p.purpose, p.in).bytes;
}

}  // namespace

TEST_CASE("everything that a rank has lies in its pools, and shards lie in what is held") {
  std::mt19937 random(35);
  for (int round = 0; round < 100; ++round) {
    auto const plan = zero::test::draw_case(random).plan();
    for (int rank = 0; rank < plan.config.world; ++rank) {
      zero::rank_places const places(plan, rank);
      CHECK(inside(plan, places.record(rank), 8));
      for (auto const& r : plan.layout.ranges) {
        auto const& in = plan.layout.unit_of(r).in;
        auto const p = zero::bytes_of(r.type);
        CHECK(inside(plan, places.held_parameters(r), r.shard(in.parameters.over) * p));
        CHECK(inside(plan, places.shard_parameters(r), r.shard() * p));
        CHECK(places.shard_parameters(r).offset - places.held_parameters(r).offset ==
              (in.parameters.sharded() ? 0 : rank * r.shard() * p));
        if (r.frozen) {
          continue;
        }
        auto const g = zero::accumulator_bytes(plan.config, r.type);
        CHECK(inside(plan, places.held_accumulators(r), r.shard(in.gradients.over) * g));
        CHECK(inside(plan, places.shard_accumulators(r), r.shard() * g));
        auto const n = places.owned_elements(r);
        CHECK(inside(plan, places.owned_accumulators(r), n * g));
        CHECK(inside(plan, places.owned_parameters(r), n * p));
        CHECK(inside(plan, places.masters(r), n * 4));
        for (std::int32_t i = 0; i < zero::state_layout_of(plan.config, r.type).count; ++i) {
          CHECK(inside(plan, places.state(r, i), n * 4));
        }
      }
    }
  }
}

TEST_CASE("an FP32 parameter is its own master") {
  std::mt19937 random(36);
  for (int round = 0; round < 50; ++round) {
    auto const plan = zero::test::draw_case(random).plan();
    zero::rank_places const places(plan, 0);
    for (auto const& r : plan.layout.ranges) {
      if (!r.frozen) {
        CHECK((places.masters(r) == places.owned_parameters(r)) == (r.type == zero::dtype::fp32));
      }
    }
  }
}
