// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/laws/engine.hpp"
#include "tests/laws/engine_misuse.hpp"

#include <zero/core/dtype.hpp>
#include <zero/core/error.hpp>
#include <zero/lease.hpp>
#include <zero/optim/step_progress.hpp>
#include <zero/optim/step_state.hpp>
#include <zero/parameter_view.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// The laws of values: what `initialize`, `full` and `set_full` write and read depends on neither
/// the number of ranks nor the stage; empty visits are gradients of zero.

namespace zero::laws {

/// Whole parameters by name, in FP32.
using values_by_name = std::map<std::string, std::vector<float>>;

/// Reads all values of an engine, and checks that windows come in order and leave nothing out.
template <class Engine>
[[nodiscard]] values_by_name read_values(Engine& engine) {
  values_by_name all;
  bool in_order = true;
  std::vector<std::string> order;
  engine.full([&](parameter_view const& view, std::int64_t first, std::span<float const> values) {
    auto& whole = all[view.name];
    in_order = in_order && first == static_cast<std::int64_t>(whole.size()) && !values.empty();
    whole.insert(whole.end(), values.begin(), values.end());
    if (order.empty() || order.back() != view.name) {
      order.push_back(view.name);
    }
  });
  CHECK(in_order);
  std::size_t next = 0;
  for (auto const& view : engine.parameters()) {
    if (view.elements > 0) {
      CHECK(static_cast<std::int64_t>(all[view.name].size()) == view.elements);
      CHECK((next < order.size() && order[next] == view.name));
      ++next;
    }
  }
  CHECK(next == order.size());
  return all;
}

/// Writes values into an engine.
template <class Engine>
void write_values(Engine& engine, values_by_name const& all) {
  engine.set_full([&](parameter_view const& view, std::int64_t first, std::span<float> values) {
    auto const& whole = all.at(view.name);
    std::copy_n(whole.begin() + first, values.size(), values.begin());
  });
}

/// Hashes after `initialize`, in every stage and number of ranks the same.
template <class Platform, class Model, class... Policies>
void initialize_law(Model const& model) {
  training_job job;
  job.steps = 0;
  auto const outcome_of = [&](int ranks, int stage, std::int64_t residency) {
    job.ranks = ranks;
    job.stage = stage;
    job.residency_bytes = residency;
    return train_stage<Platform, Model, Policies...>(job, model);
  };
  auto const expected = outcome_of(1, 0, 0);
  for (int const ranks : {1, 2, 3, 5, 8}) {
    for (int stage = 0; stage < 4; ++stage) {
      for (std::int64_t const residency : {0, 600, 16384}) {
        CAPTURE(ranks);
        CAPTURE(stage);
        CAPTURE(residency);
        auto const outcome = outcome_of(ranks, stage, residency);
        CHECK(outcome.parameters == expected.parameters);
        CHECK(outcome.replicas == expected.replicas);
      }
    }
  }
}

/// Trains on some ranks, reads everything, writes it into an engine of another stage on other
/// ranks: the same masters and parameters.
template <class Platform, class From, class To>
void round_trip_law(typename From::model_type const& model, int ranks, int other_ranks) {
  CAPTURE(From::stage);
  CAPTURE(To::stage);
  CAPTURE(ranks);
  CAPTURE(other_ranks);
  training_job job;
  job.ranks = ranks;
  job.steps = 2;
  std::mutex mutex;
  values_by_name values;
  std::uint64_t parameters = 0;
  std::uint64_t replicas = 0;
  Platform::run(ranks, [&](auto communicator) {
    auto engine =
        Platform::template make<From>(model, std::move(communicator), options_of<From>(job));
    engine.initialize(initial_values);
    test::training_rank<Platform, From> loop(engine, job);
    loop.step(0);
    loop.step(1);  // before the next pass, in stages 1 and 2, not all ranks have all parameters
    auto mine = read_values(engine);
    auto const hash = engine.parameters_hash();
    auto const replica = engine.replica_hash();
    std::lock_guard const lock(mutex);
    if (!values.empty()) {
      CHECK(mine == values);
      CHECK(hash == parameters);
    }
    values = std::move(mine);
    parameters = hash;
    replicas = replica;
  });
  job.ranks = other_ranks;
  Platform::run(other_ranks, [&](auto communicator) {
    auto engine = Platform::template make<To>(model, std::move(communicator), options_of<To>(job));
    write_values(engine, values);
    CHECK(engine.parameters_hash() == parameters);
    CHECK(engine.replica_hash() == replicas);
    CHECK(read_values(engine) == values);
  });
}

/// Writing the values that are there keeps the optimizer's state: training goes on as if nothing
/// had been. `initialize` starts it anew: training again gives the same again.
template <class Platform, class Engine>
void state_law(typename Engine::model_type const& model, int ranks) {
  CAPTURE(Engine::stage);
  training_job job;
  job.ranks = ranks;
  job.evaluate = false;
  Platform::run(ranks, [&](auto communicator) {
    auto engine =
        Platform::template make<Engine>(model, std::move(communicator), options_of<Engine>(job));
    auto const train_again = [&](bool rewrites) {
      engine.initialize(initial_values);
      test::training_rank<Platform, Engine> loop(engine, job);
      for (int step = 0; step < 3; ++step) {
        loop.step(step);
        if (rewrites) {
          write_values(engine, read_values(engine));
        }
      }
      CHECK(engine.result().step == 3);
      return engine.parameters_hash();
    };
    auto const expected = train_again(false);
    CHECK(train_again(false) == expected);
    CHECK(train_again(true) == expected);
  });
}

/// A training that stops and goes on in another engine, in another stage, is the training that did
/// not stop: with an optimizer that keeps nothing besides the weights, these and the progress are
/// all there is. One micro-step a step; the loss scale moves, where there is one.
template <class Platform, class From, class To>
void resume_law(typename From::model_type const& model, int ranks) {
  CAPTURE(From::stage);
  CAPTURE(To::stage);
  training_job job;
  job.ranks = ranks;
  job.clip_norm = 1;
  job.loss_scale = {.initial = 8, .window = 2};
  constexpr int first = 3;
  constexpr int all = 6;
  std::mutex mutex;
  values_by_name values;
  step_progress progress;
  step_record last;
  std::uint64_t expected = 0;
  Platform::run(ranks, [&](auto communicator) {
    auto engine =
        Platform::template make<From>(model, std::move(communicator), options_of<From>(job));
    engine.initialize(initial_values);
    test::training_rank<Platform, From> loop(engine, job);
    for (int step = 0; step < first; ++step) {
      loop.step(step);
    }
    auto mine = read_values(engine);
    auto const here = engine.progress();
    CHECK(here.steps == first);
    for (int step = first; step < all; ++step) {
      loop.step(step);
    }
    auto const hash = engine.parameters_hash();
    std::lock_guard const lock(mutex);
    values = std::move(mine);
    progress = here;
    last = engine.result();
    expected = hash;
  });
  Platform::run(ranks, [&](auto communicator) {
    auto engine = Platform::template make<To>(model, std::move(communicator), options_of<To>(job));
    write_values(engine, values);
    engine.set_progress(progress);
    CHECK(engine.progress() == progress);
    CHECK(engine.completed_steps() == first);
    CHECK_THROWS_AS(static_cast<void>(engine.result()), logic_error);  // none of its own
    test::training_rank<Platform, To> loop(engine, job);
    for (int step = first; step < all; ++step) {
      loop.step(step);
    }
    auto const record = engine.result();
    CHECK(record.step == last.step);
    CHECK(record.applied_steps == last.applied_steps);
    CHECK(record.loss_scale == last.loss_scale);
    CHECK(record.norm == last.norm);
    CHECK(engine.completed_steps() == all);
    CHECK(engine.parameters_hash() == expected);
  });
}

/// A visit without a request for gradients, a `skip`, a gradient of zeros that is overwritten, and
/// one that is only requested are the same; on one rank or on all.
template <class Platform, class Engine>
void empty_visits_law(typename Engine::model_type const& model) {
  using M = typename Engine::model_type;
  CAPTURE(Engine::stage);
  enum class kind { visit, skip, request, zeros };
  auto const hash_of = [&](kind how, bool everywhere) {
    std::mutex mutex;
    std::uint64_t hash = 0;
    Platform::run(3, [&](auto communicator) {
      training_job job;
      job.residency_bytes = 0;
      job.poison = true;
      auto engine =
          Platform::template make<Engine>(model, std::move(communicator), options_of<Engine>(job));
      engine.initialize(initial_values);
      int const rank = engine.rank();
      auto const write = [&](auto& tensor, float value) {
        using T = typename std::remove_reference_t<decltype(tensor)>::value_type;
        Platform::write(
            tensor.data(),
            std::vector<T>(static_cast<std::size_t>(tensor.size()), from_float<T>(value)));
      };
      for (int step = 0; step < 2; ++step) {
        for ([[maybe_unused]] auto const micro : engine.micro_steps()) {
          M::forward(engine, [](auto&, int) {});
          for (std::int64_t i = M::depth; i-- > 0;) {
            bool const empty = (everywhere || rank == 1) && i % 2 == 1;
            if (empty && how == kind::skip) {
              engine.skip(&M::layers, i);
              continue;
            }
            auto lease = engine.backward(&M::layers, i);
            if (empty && how == kind::visit) {
              continue;
            }
            if (empty && how == kind::request) {
              static_cast<void>(lease.grads());
              continue;
            }
            float const value = empty ? 0.0F : static_cast<float>(rank + 1) / 8;
            auto& gradients = lease.grads(overwrite);
            write(gradients.weight, value);
            write(gradients.bias, -value);
          }
        }
        engine.step({.lr = 0.1});
      }
      CHECK(engine.result().applied);
      auto const mine = engine.parameters_hash();
      std::lock_guard const lock(mutex);
      hash = mine;
    });
    return hash;
  };
  for (bool const everywhere : {false, true}) {
    auto const expected = hash_of(kind::zeros, everywhere);
    CHECK(hash_of(kind::visit, everywhere) == expected);
    CHECK(hash_of(kind::skip, everywhere) == expected);
    CHECK(hash_of(kind::request, everywhere) == expected);
  }
  CHECK(hash_of(kind::zeros, false) != hash_of(kind::zeros, true));
}

}  // namespace zero::laws
