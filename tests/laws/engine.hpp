// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/training.hpp"

#include <zero/core/random.hpp>
#include <zero/engine.hpp>
#include <zero/parameter_view.hpp>
#include <zero/policy/stage.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// @file
/// Running engines for laws: a law is a function template over a platform (device, communicator and
/// access to memory, see tests/support/host_platform.hpp), so that hosts and GPUs, ranks as threads
/// and as processes, answer to the same ones.

namespace zero::laws {

using test::training_job;
using test::training_outcome;

/// An engine on a platform.
template <class Platform, class Model, class... Policies>
using engine_on =
    ZeroEngine<Model, Policies..., typename Platform::device, typename Platform::communicator>;

/// The settings of a job as an engine takes them.
template <class Engine>
[[nodiscard]] typename Engine::options options_of(training_job const& job) {
  typename Engine::options options;
  options.clip_norm = job.clip_norm;
  options.mean = job.mean;
  options.schedule.prefetch_units = job.prefetch_units;
  options.schedule.piece_bytes = job.piece_bytes;
  options.schedule.residency_bytes = job.residency_bytes;
  options.schedule.gather_tied = job.gather_tied;
  options.overlap = job.overlap;
  options.loss_scale = job.loss_scale;
  options.optimizer.lr = job.lr;
  options.stress.poison = job.poison;
  if (job.delays) {
    options.stress.delay = test::random_delay;
  }
  return options;
}

/// Initial values in [-1/2, 1/2), the same for every number of ranks.
inline void initial_values(parameter_view const& view,
                           std::int64_t first,
                           std::span<float> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = uniform(view.key, static_cast<std::uint64_t>(first) + i) - 0.5F;
  }
}

/// Trains a model from a factory in one stage and gives what all ranks agree on.
/// @throws what the run threw; logic_error where the ranks' outcomes differ
template <class Platform, class Engine>
[[nodiscard]] training_outcome train(training_job const& job,
                                     typename Engine::model_type const& model) {
  std::mutex mutex;
  std::vector<std::pair<int, training_outcome>> outcomes;
  Platform::run(job.ranks, [&](auto communicator) {
    int const rank = communicator.rank();
    auto engine =
        Platform::template make<Engine>(model, std::move(communicator), options_of<Engine>(job));
    engine.initialize(initial_values);
    test::training_rank<Platform, Engine> loop(engine, job);
    training_outcome mine;
    for (int step = 0; step < job.steps; ++step) {
      loop.step(step);
      mine.steps.push_back(engine.result());
    }
    mine.parameters = engine.parameters_hash();
    mine.replicas = engine.replica_hash();
    mine.observed = job.evaluate ? 0 : loop.observed();  // only the first rank evaluates
    std::lock_guard const lock(mutex);
    outcomes.emplace_back(rank, mine);
    if (rank == 0) {
      std::swap(outcomes.front(), outcomes.back());
      outcomes.front().second.observed = loop.observed();
    }
  });
  auto const& first = outcomes.front().second;
  for (auto& [rank, outcome] : outcomes) {
    outcome.observed = job.evaluate ? first.observed : outcome.observed;
    if (!(outcome == first)) {
      throw std::logic_error("rank " + std::to_string(rank) + " comes to another outcome");
    }
  }
  return first;
}

/// The same, the stage chosen at run time.
template <class Platform, class Model, class... Policies>
[[nodiscard]] training_outcome train_stage(training_job const& job, Model const& model) {
  switch (job.stage) {
    case 0:
      return train<Platform, engine_on<Platform, Model, Stage<0>, Policies...>>(job, model);
    case 1:
      return train<Platform, engine_on<Platform, Model, Stage<1>, Policies...>>(job, model);
    case 2:
      return train<Platform, engine_on<Platform, Model, Stage<2>, Policies...>>(job, model);
    default:
      return train<Platform, engine_on<Platform, Model, Stage<3>, Policies...>>(job, model);
  }
}

}  // namespace zero::laws
