// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/laws/engine.hpp"
#include "tests/laws/engine_wire.hpp"
#include "tests/support/closed_form.hpp"
#include "tests/support/core_rank.hpp"
#include "tests/support/stack.hpp"
#include "tests/support/text.hpp"

#include <zero/core/error.hpp>
#include <zero/detail/pool_memory.hpp>
#include <zero/model/describe.hpp>
#include <zero/model/program.hpp>
#include <zero/plan/plan.hpp>
#include <zero/plan/pools.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

/// @file
/// The laws of memory: what is planned is what is allocated, pool by pool; both follow the closed
/// form; and after construction nothing is allocated.

namespace zero::laws {

[[nodiscard]] inline std::int64_t bytes_of_pool(std::vector<pool_bytes> const& pools,
                                                std::string const& name) {
  for (auto const& p : pools) {
    if (name == p.name) {
      return p.allocated_bytes;
    }
  }
  FAIL_CHECK("there is no pool of this name");
  return -1;
}

/// Planned = allocated in every pool of every rank, and pools of states equal the closed form.
/// `inspect(pools)` is called on the thread that has just made the engine.
template <class Platform, class Engine, class Inspect>
void pools_law(training_job const& job, typename Engine::model_type const& model, Inspect inspect) {
  CAPTURE(Engine::stage);
  CAPTURE(job.ranks);
  CAPTURE(job.residency_bytes);
  test::closed_form const expected(model, question_of<Engine>(job, model));
  std::mutex mutex;
  Platform::run(job.ranks, [&](auto communicator) {
    auto const engine =
        Platform::template make<Engine>(model, std::move(communicator), options_of<Engine>(job));
    auto const pools = engine.pools();
    std::lock_guard const lock(mutex);
    inspect(pools);
    std::int64_t total = 0;
    for (auto const& p : pools) {
      CAPTURE(p.name);
      CHECK(p.planned_bytes == p.allocated_bytes);
      total += p.allocated_bytes;
    }
    CHECK(total == engine.plan().device_bytes());
    CHECK(bytes_of_pool(pools, "parameters") == expected.parameter_bytes());
    CHECK(bytes_of_pool(pools, "gradients") == expected.gradient_bytes());
    CHECK(bytes_of_pool(pools, "optimizer") == expected.optimizer_bytes());
    CHECK(bytes_of_pool(pools, "receive") == expected.receive_bytes());
  });
}

/// The same in all stages, for several numbers of ranks and settings.
template <class Platform, class Model, class Inspect, class... Policies>
void pools_laws(Model const& model, Inspect inspect) {
  for (int const ranks : {1, 2, 3, 8}) {
    training_job job;
    job.ranks = ranks;
    for (auto const& [residency, pieces] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {0, 1}, {600, std::int64_t{32} << 20}, {std::int64_t{16} << 10, 100'000}}) {
      job.residency_bytes = residency;
      job.piece_bytes = pieces;
      job.gather_tied = residency == 0;
      pools_law<Platform, engine_on<Platform, Model, Stage<0>, Policies...>>(job, model, inspect);
      pools_law<Platform, engine_on<Platform, Model, Stage<1>, Policies...>>(job, model, inspect);
      pools_law<Platform, engine_on<Platform, Model, Stage<2>, Policies...>>(job, model, inspect);
      pools_law<Platform, engine_on<Platform, Model, Stage<3>, Policies...>>(job, model, inspect);
    }
  }
}

/// Slots of a stack of equal layers: one open at a time, `prefetch_units` ahead, one gradient more
/// than is open; and the formula without padding.
template <class Engine>
void slots_law(int ranks) {
  CAPTURE(Engine::stage);
  CAPTURE(ranks);
  auto const stack = test::stack::make<bf16>(50'000);
  auto const parameters = describe(stack);
  for (int const units : {0, 1, 2, 3}) {
    CAPTURE(units);
    typename Engine::options options;
    options.schedule.prefetch_units = units;
    options.schedule.residency_bytes = 0;
    auto const plan = zero::plan<Engine>(stack, ranks, options);
    training_job job;
    job.ranks = ranks;
    job.residency_bytes = 0;
    test::closed_form const form(stack, question_of<Engine>(job, stack));
    auto const layer = form.ranges().front().shard * ranks * 2;
    bool const gathers = Engine::stage == 3 && ranks > 1;
    auto const at = [&](pool p) { return plan.pools.rows[static_cast<std::size_t>(p)].bytes; };
    CHECK(at(pool::parameter_slots) == (gathers ? (1 + units) * layer : 0));
    CHECK(at(pool::gradient_slots) == 2 * layer);
    std::int64_t const payload = form.ranges().front().payload * 2;
    CHECK(plan.formula_bytes() == form.state_payload_bytes() +
                                      (gathers ? (1 + units) * payload : 0) + 2 * payload +
                                      form.receive_bytes());
  }
}

/// Padding, the control pool and what else the formula leaves out: at most 0.1 % or 16 MiB.
template <class Engine>
void excess_law(typename Engine::model_type const& model, std::vector<int> const& all_ranks) {
  for (int const ranks : all_ranks) {
    CAPTURE(Engine::stage);
    CAPTURE(ranks);
    auto const plan = zero::plan<Engine>(model, ranks);
    auto const formula = plan.formula_bytes();
    auto const excess = plan.device_bytes() - formula;
    CHECK(excess >= 0);
    CHECK(excess <= std::max(formula / 1000, std::int64_t{16} << 20));
  }
}

/// A plan that is wrong by one granule, in any pool and direction, is caught before anything is
/// allocated, by a sentence that names the pool.
template <class Platform, class Engine>
void falsified_plan_law(typename Engine::model_type const& model, int ranks) {
  using device_type = typename Platform::device::device;
  using setup = typename test::setup_of<Engine>::type;
  auto const parameters = describe(model);
  auto const plan = make_plan(parameters.parameters,
                              parameters.units,
                              make_program(model),
                              setup::config(model, ranks, typename Engine::options{}));
  device_type device(0);
  {
    detail::pool_memory<device_type> const right(device, plan, 0);
    CHECK(device.allocations().live_bytes == plan.device_bytes());
  }
  CHECK(device.allocations().live_bytes == 0);
  auto const calls = device.allocations().calls;
  for (std::size_t i = 0; i < pool_count; ++i) {
    for (std::int64_t const error : {-256, 256}) {
      auto wrong = plan;
      wrong.pools.rows[i].bytes += error;
      std::string message;
      try {
        detail::pool_memory<device_type> const memory(device, wrong, 0);
      } catch (logic_error const& e) {
        message = e.what();
      }
      CHECK(test::contains(message, std::string("'") + name(static_cast<pool>(i)) + "'"));
    }
  }
  CHECK(device.allocations().calls == calls);
}

/// A loop as frugal as its engine: it writes the same number everywhere.
template <class Platform, class Engine>
class frugal_rank {
 public:
  using model = typename Engine::model_type;

  explicit frugal_rank(Engine& engine)
      : engine_(&engine) {}

  void step(std::int64_t micro_steps, bool evaluates) {
    for (auto const micro : engine_->micro_steps(micro_steps)) {
      model::forward(*engine_, [](auto&, int) {});
      model::backward(*engine_, [&](auto& lease, int unit) {
        if ((micro.index + unit) % 3 == 0) {
          return;  // an empty visit
        }
        bool const adds = lease.accumulate();
        auto& gradients = adds ? lease.grads() : lease.grads(overwrite);
        auto write = [](auto& tensor) {
          for (std::int64_t i = 0; tensor.data() != nullptr && i < tensor.size(); ++i) {
            tensor[i] =
                from_float<typename std::remove_reference_t<decltype(tensor)>::value_type>(0.25F);
          }
        };
        detail::for_each_tensor(gradients, write);
      });
      if (evaluates) {
        evaluate();
      }
    }
    engine_->step({.lr = 1e-3});
    if (evaluates) {
      evaluate();
    }
  }

  void evaluate() {
    auto pass = engine_->evaluation();
    if (engine_->rank() % 2 == 0) {
      model::forward(pass, [](auto&, int) {});
    } else {
      pass.follow();
    }
  }

 private:
  Engine* engine_;
};

/// Twenty steps with evaluation passes and results between them: not one allocation, on any thread
/// of any rank. `allocations()` counts those of the whole program.
template <class Platform, class Engine, class Count>
void nothing_allocated_law(training_job const& job,
                           typename Engine::model_type const& model,
                           Count allocations) {
  CAPTURE(Engine::stage);
  CAPTURE(job.overlap);
  std::barrier<> meet(job.ranks);
  std::int64_t before = 0;
  std::int64_t after = -1;
  bool applied = true;
  Platform::run(job.ranks, [&](auto communicator) {
    auto engine =
        Platform::template make<Engine>(model, std::move(communicator), options_of<Engine>(job));
    engine.initialize(initial_values);
    frugal_rank<Platform, Engine> loop(engine);
    meet.arrive_and_wait();
    if (engine.rank() == 0) {
      before = allocations();
    }
    meet.arrive_and_wait();
    for (int step = 0; step < 20; ++step) {
      loop.step(job.micro_steps, step % 2 == 0);
      if (step % 3 == 0) {
        bool const one = engine.result().applied;
        if (engine.rank() == 0) {
          applied = applied && one;
        }
      }
    }
    static_cast<void>(engine.result());
    meet.arrive_and_wait();
    if (engine.rank() == 0) {
      after = allocations();
    }
    meet.arrive_and_wait();
  });
  CHECK(after - before == 0);
  CHECK(applied);
}

}  // namespace zero::laws
