// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/laws/engine.hpp"
#include "tests/support/closed_form.hpp"
#include "tests/support/core_rank.hpp"
#include "tests/support/stack.hpp"

#include <zero/core/traffic.hpp>
#include <zero/plan/plan.hpp>
#include <zero/plan/schedule.hpp>
#include <zero/plan/wire.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

/// @file
/// The law of the wire: what a communicator has counted is what the schedule says, and what the
/// closed form of the stage says.

namespace zero::laws {

[[nodiscard]] inline traffic operator+(traffic a, traffic const& b) {
  for (std::size_t i = 0; i < a.entries.size(); ++i) {
    a.entries[i].count += b.entries[i].count;
    a.entries[i].bytes += b.entries[i].bytes;
  }
  return a;
}

/// What a rank has sent.
struct sent {
  traffic step;          ///< in a step, the publish of the one before included
  traffic evaluation;    ///< in an evaluation pass right after another one
  traffic planned_step;  ///< by the schedule
  traffic planned_evaluation;
};

template <class Engine>
[[nodiscard]] test::cost_question question_of(training_job const& job,
                                              typename Engine::model_type const& model) {
  using policies = test::setup_of<Engine>;
  test::cost_question q;
  q.ranks = job.ranks;
  q.stage = Engine::stage;
  q.unit_stages = policies::type::per_unit::unit_stages(model);
  q.micro_steps = job.micro_steps;
  q.native_accumulate = policies::native_accumulate;
  q.native_reduction = policies::native_reduction;
  q.moments = policies::type::types::optimizer::moments;
  q.piece_bytes = job.piece_bytes;
  q.residency_bytes = job.residency_bytes;
  q.gather_tied = job.gather_tied;
  return q;
}

/// Runs steps and evaluation passes on all ranks and reads the counters in between.
template <class Platform, class Engine>
[[nodiscard]] std::vector<sent> count_sent(training_job const& job,
                                           typename Engine::model_type const& model) {
  std::mutex mutex;
  std::vector<sent> all;
  Platform::run(job.ranks, [&](auto communicator) {
    auto engine =
        Platform::template make<Engine>(model, std::move(communicator), options_of<Engine>(job));
    engine.initialize(initial_values);
    test::training_rank<Platform, Engine> loop(engine, job);
    // Reading a result waits for all that was enqueued, so the counters stand still.
    auto const reading = [&] {
      static_cast<void>(engine.result());
      return engine.traffic();
    };
    sent mine;
    loop.step(0);
    auto const first = reading();
    loop.step(1);
    auto const second = reading();
    mine.step = second - first;
    loop.evaluate();
    auto const third = reading();
    loop.evaluate();
    mine.evaluation = reading() - third;
    auto const& plan = engine.plan();
    auto const pass = [&](pass_kind kind) {
      return wire_of(plan, plan.passes[static_cast<std::size_t>(index_of(kind))]);
    };
    for (std::int64_t i = 0; i < job.micro_steps; ++i) {
      mine.planned_step =
          mine.planned_step + pass({true, i == 0, i + 1 == job.micro_steps, i == 0});
    }
    mine.planned_step = mine.planned_step + wire_of(plan, plan.step);
    mine.planned_evaluation = pass({false, false, false, false});
    std::lock_guard const lock(mutex);
    all.push_back(mine);
  });
  return all;
}

inline void check_same(traffic const& seen, traffic const& expected) {
  for (int i = 0; i < collective_count; ++i) {
    auto const c = static_cast<collective>(i);
    CAPTURE(name(c));
    CHECK(seen[c].count == expected[c].count);
    CHECK(seen[c].bytes == expected[c].bytes);
  }
}

/// Counters, schedule and closed form say the same of a step and of an evaluation pass, on every
/// rank; nothing is all-reduced or broadcast in any stage.
template <class Platform, class Engine>
void wire_law(training_job job, typename Engine::model_type const& model) {
  CAPTURE(Engine::stage);
  CAPTURE(job.ranks);
  CAPTURE(job.micro_steps);
  CAPTURE(job.piece_bytes);
  CAPTURE(job.residency_bytes);
  CAPTURE(job.gather_tied);
  job.evaluate = false;
  test::closed_form const expected(model, question_of<Engine>(job, model));
  auto const all = count_sent<Platform, Engine>(job, model);
  CHECK(static_cast<int>(all.size()) == job.ranks);
  for (auto const& rank : all) {
    check_same(rank.step, expected.step());
    check_same(rank.step, rank.planned_step);
    check_same(rank.evaluation, expected.evaluation());
    check_same(rank.evaluation, rank.planned_evaluation);
    CHECK(rank.step[collective::all_reduce].count == 0);
    CHECK(rank.step[collective::broadcast].count == 0);
  }
}

/// All stages, one and several micro-steps, small pieces and large, tied units kept and gathered.
template <class Platform, class Model, class... Policies>
void wire_laws(Model const& model) {
  auto const stages = [&](training_job const& job) {
    wire_law<Platform, engine_on<Platform, Model, Stage<0>, Policies...>>(job, model);
    wire_law<Platform, engine_on<Platform, Model, Stage<1>, Policies...>>(job, model);
    wire_law<Platform, engine_on<Platform, Model, Stage<2>, Policies...>>(job, model);
    wire_law<Platform, engine_on<Platform, Model, Stage<3>, Policies...>>(job, model);
  };
  for (int const ranks : {1, 2, 3, 8}) {
    for (std::int64_t const micro_steps : {1, 3}) {
      training_job job;
      job.ranks = ranks;
      job.micro_steps = micro_steps;
      stages(job);
      job.piece_bytes = 1;
      job.gather_tied = true;
      job.residency_bytes = 0;
      job.prefetch_units = 2;
      stages(job);
      job.residency_bytes = std::int64_t{1} << 30;  // everything stays
      stages(job);
    }
  }
}

/// The table of the documentation, for a container without padding, residents or ties: bytes a rank
/// sends a step, in units of one parameter of each element.
template <class Platform, class Engine>
void table_law(int ranks, std::int64_t micro_steps, double factor_of_psi, double turn) {
  using model = test::stack::model<bf16>;
  CAPTURE(Engine::stage);
  CAPTURE(micro_steps);
  // 11 elements of a weight and bias for each 10: 256 ranks elements of them divide into shards.
  auto const stack = test::stack::make<bf16>(10 * 256 * ranks);
  training_job job;
  job.ranks = ranks;
  job.micro_steps = micro_steps;
  job.residency_bytes = 0;
  job.evaluate = false;
  auto const all = count_sent<Platform, Engine>(job, stack);
  double const layer = 11.0 * 256 * ranks;
  double const psi = layer * static_cast<double>(model::depth);
  double const f = (ranks - 1.0) / ranks;
  for (auto const& rank : all) {
    CHECK(
        static_cast<double>(rank.step.total().bytes) ==
        doctest::Approx(f * (factor_of_psi * psi - turn * layer) + 8 * (ranks - 1)).epsilon(1e-12));
  }
}

}  // namespace zero::laws
