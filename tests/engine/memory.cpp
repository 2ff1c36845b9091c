// SPDX-License-Identifier: Apache-2.0
#include "tests/laws/engine_memory.hpp"
#include "tests/support/host_platform.hpp"
#include "tests/support/stack.hpp"
#include "tests/support/watch_allocations.hpp"
#include "tests/support/zoo.hpp"

#include <zero/core/dtype.hpp>
#include <zero/core/error.hpp>
#include <zero/device/host.hpp>
#include <zero/policy/per_unit.hpp>
#include <zero/policy/stage.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using platform = zero::test::host_platform;
using zoo = zero::test::zoo::model<zero::bf16>;
using stack = zero::test::stack::model<zero::bf16>;

template <class Model, int Stage>
using engine = zero::laws::engine_on<platform, Model, zero::Stage<Stage>>;

/// Every stage in one model.
using mixed_engine = zero::laws::engine_on<platform,
                                           zoo,
                                           zero::PerUnit<zero::Default<zero::Stage<3>>,
                                                         zero::For<&zoo::embed, zero::Stage<2>>,
                                                         zero::For<&zoo::around, zero::Stage<1>>,
                                                         zero::For<&zoo::gates, zero::Stage<0>>>>;

template <class F>
void for_stages(F f) {
  f.template operator()<0>();
  f.template operator()<1>();
  f.template operator()<2>();
  f.template operator()<3>();
}

/// The thread's allocations at the alignment of pools are the pools, each once and no other.
void compare_with_allocator(std::vector<zero::pool_bytes> const& pools) {
  std::vector<std::int64_t> expected;
  for (auto const& pool : pools) {
    if (pool.planned_bytes > 0) {
      expected.push_back(pool.planned_bytes);
    }
  }
  auto& log = zero::test::pool_allocations();
  std::vector<std::int64_t> seen(log.bytes.data(), log.bytes.data() + log.count);
  std::ranges::sort(expected);
  std::ranges::sort(seen);
  CHECK(seen == expected);
}

TEST_CASE("planned is allocated, pool by pool, and follows the closed form") {
  auto const mixed = zero::test::zoo::make<zero::bf16>();
  zero::laws::pools_laws<platform>(mixed, compare_with_allocator);
  zero::laws::training_job job;
  job.ranks = 3;
  zero::laws::pools_law<platform, mixed_engine>(job, mixed, compare_with_allocator);
}

TEST_CASE("slots of equal layers: those open, those ahead, one gradient more") {
  for (int const ranks : {1, 3, 8}) {
    for_stages([&]<int Stage> { zero::laws::slots_law<engine<stack, Stage>>(ranks); });
  }
}

TEST_CASE("the formula is exceeded by at most 0.1 % or 16 MiB") {
  auto const large = zero::test::stack::make<zero::bf16>(std::int64_t{400} << 20);
  auto const huge = zero::test::stack::make<zero::bf16>(std::int64_t{3} << 30);  // beyond 2^31
  auto const small = zero::test::stack::make<zero::bf16>(40'000);
  auto const mixed = zero::test::zoo::make<zero::bf16>();
  for_stages([&]<int Stage> {
    zero::laws::excess_law<engine<stack, Stage>>(large, {1, 2, 7, 8, 64, 1000});
    zero::laws::excess_law<engine<stack, Stage>>(small, {1, 2, 7, 8, 64});
    zero::laws::excess_law<engine<stack, Stage>>(huge, {1, 8});
    zero::laws::excess_law<engine<zoo, Stage>>(mixed, {1, 2, 7, 8, 64});
  });
  zero::laws::excess_law<mixed_engine>(mixed, {1, 2, 7, 8, 64});
}

TEST_CASE("a plan that is wrong by one granule is caught") {
  auto const mixed = zero::test::zoo::make<zero::bf16>();
  for_stages(
      [&]<int Stage> { zero::laws::falsified_plan_law<platform, engine<zoo, Stage>>(mixed, 3); });
  zero::laws::falsified_plan_law<platform, mixed_engine>(mixed, 3);
}

TEST_CASE("nothing is allocated after construction") {
  auto const mixed = zero::test::zoo::make<zero::bf16>();
  for (bool const overlap : {true, false}) {
    zero::laws::training_job job;
    job.ranks = 3;
    job.micro_steps = 2;
    job.clip_norm = 1;
    job.overlap = overlap;
    for_stages([&]<int Stage> {
      zero::laws::nothing_allocated_law<platform, engine<zoo, Stage>>(
          job, mixed, [] { return zero::test::allocations(); });
    });
    zero::laws::nothing_allocated_law<platform, mixed_engine>(
        job, mixed, [] { return zero::test::allocations(); });
  }
}

TEST_CASE("a hundred engines made and destroyed leave nothing behind") {
  auto const mixed = zero::test::zoo::make<zero::bf16>();
  zero::laws::training_job job;
  job.ranks = 2;
  std::int64_t early = 0;
  for (int i = 0; i < 100; ++i) {
    platform::run(job.ranks, [&](auto communicator) {
      engine<zoo, 3> one(
          mixed, std::move(communicator), zero::laws::options_of<engine<zoo, 3>>(job));
      zero::laws::frugal_rank<platform, engine<zoo, 3>>(one).step(1, true);
    });
    if (i == 10) {
      early = zero::test::live_allocations();
    }
  }
  CHECK(zero::test::live_allocations() <= early);
}

TEST_CASE("out of memory names the pool and the plan, on the rank; the others hear of it") {
  auto const mixed = zero::test::zoo::make<zero::bf16>();
  std::vector<std::string> errors(2);
  zero::local_world const world(2);
  auto const run = [&](int rank) {
    try {
      engine<zoo, 0> const one(mixed,
                               world.communicator(rank),
                               {},
                               zero::host_options{.memory_limit = rank == 1 ? 500'000 : -1});
    } catch (std::exception const& e) {
      errors[static_cast<std::size_t>(rank)] = e.what();
    }
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  CAPTURE(errors[0]);
  CAPTURE(errors[1]);
  CHECK(zero::test::contains(errors[1], "pool 'optimizer'"));
  CHECK(zero::test::contains(errors[1], "gradients 2"));
  CHECK(zero::test::contains(errors[0], "rank 1"));
}

}  // namespace
