// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/laws/engine.hpp"
#include "tests/laws/engine_numbers.hpp"

#include <zero/core/error.hpp>
#include <zero/optim/loss_scale.hpp>
#include <zero/optim/step_state.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <utility>
#include <vector>

/// @file
/// The laws of FP16's loss scale, as an engine shows it: every rank and stage comes to the same
/// decisions, whichever rank overflows.

namespace zero::laws {

/// A loss scaler by its description, written apart from the library's.
class expected_scaler {
 public:
  explicit expected_scaler(loss_scale_options const& options)
      : options_(options),
        scale_(options.initial),
        forgiven_(0) {}

  [[nodiscard]] double scale() const { return scale_; }

  /// Moves on; says whether the scale was stuck at the floor.
  bool step(bool overflow) {
    if (!options_.dynamic) {
      return false;
    }
    if (!overflow) {
      ++good_;
      if (options_.consecutive_hysteresis) {
        forgiven_ = 0;
      }
      if (good_ == options_.window) {
        good_ = 0;
        forgiven_ = 0;
        scale_ = std::min(options_.maximum, 2 * scale_);
      }
      return false;
    }
    good_ = 0;
    if (forgiven_ + 1 < options_.hysteresis) {
      ++forgiven_;
      return false;
    }
    bool const stuck = scale_ <= options_.minimum;
    scale_ = std::max(options_.minimum, scale_ / 2);
    return stuck;
  }

 private:
  loss_scale_options options_;
  double scale_;
  int forgiven_;
  int good_ = 0;
};

/// Which steps of a run overflow, on one rank each, in one micro-step each.
inline std::vector<bool> const overflows{
    true, false, true, false, false, true, true, false, true, true, true, false, false};

[[nodiscard]] inline training_job overflowing_job(int ranks, loss_scale_options const& scaling) {
  training_job job;
  job.ranks = ranks;
  job.micro_steps = 2;
  job.steps = static_cast<int>(overflows.size());
  job.clip_norm = 1;
  job.evaluate = false;
  job.loss_scale = scaling;
  job.spoil = [](test::gradient_place const& place) {
    bool const here = overflows[static_cast<std::size_t>(place.step)] &&
                      place.rank == place.step % place.ranks && place.micro == place.step % 2;
    return here ? std::numeric_limits<float>::infinity() : 0.0F;
  };
  return job;
}

/// Skip decisions and scales follow the description on all ranks and in all stages; what the ranks'
/// kernels read is the scale that the result reports.
template <class Platform, class Model, class... Policies>
void scale_follows(Model const& model, int ranks, loss_scale_options const& scaling) {
  CAPTURE(ranks);
  CAPTURE(scaling.window);
  CAPTURE(scaling.hysteresis);
  CAPTURE(scaling.consecutive_hysteresis);
  std::vector<training_outcome> outcomes;
  for (int stage = 0; stage < 4; ++stage) {
    CAPTURE(stage);
    training_job job = overflowing_job(ranks, scaling);
    job.stage = stage;
    auto const seen = std::make_shared<std::vector<std::set<float>>>(overflows.size());
    auto const mutex = std::make_shared<std::mutex>();
    job.gradients = [seen, mutex](test::gradient_place const& place, std::span<float> values) {
      test::wild_gradients(place, values);
      std::lock_guard const lock(*mutex);
      (*seen)[static_cast<std::size_t>(place.step)].insert(place.loss_scale);
    };
    auto const outcome = train_stage<Platform, Model, Policies...>(job, model);
    outcomes.push_back(outcome);
    expected_scaler expected(scaling);
    std::int64_t in_row = 0;
    std::int64_t applied = 0;
    for (std::size_t i = 0; i < overflows.size(); ++i) {
      CAPTURE(i);
      auto const& step = outcome.steps[i];
      in_row = overflows[i] ? in_row + 1 : 0;
      CHECK(step.applied == !overflows[i]);
      CHECK(step.reason == (overflows[i] ? skip_reason::nonfinite_gradient : skip_reason::none));
      applied += overflows[i] ? 0 : 1;
      CHECK(step.applied_steps == applied);
      CHECK(step.skipped_in_row == in_row);
      CHECK(step.loss_scale == expected.scale());
      CHECK((*seen)[i] == std::set<float>{static_cast<float>(expected.scale())});
      CHECK(step.at_floor == expected.step(overflows[i]));
    }
  }
  CHECK(outcomes[0] == outcomes[1]);
  CHECK(outcomes[2] == outcomes[3]);
}

/// The gradient is unscaled with the scale that was in force when it was computed, also in the step
/// that doubles: the run equals one with a scale that never moves.
template <class Platform, class Model, class... Policies>
void growth_is_exact(Model const& model, int ranks) {
  for (int stage = 0; stage < 4; ++stage) {
    CAPTURE(stage);
    training_job job = exact_job(ranks, 2, stage);
    job.steps = 5;
    job.loss_scale = {.dynamic = false, .initial = 1};
    auto const constant = train_stage<Platform, Model, Policies...>(job, model);
    job.loss_scale = {.initial = 2, .window = 2};
    auto const growing = train_stage<Platform, Model, Policies...>(job, model);
    CHECK(growing.steps.front().loss_scale == 2);
    CHECK(growing.steps.back().loss_scale == 8);
    CHECK(growing.parameters == constant.parameters);
    for (std::size_t i = 0; i < constant.steps.size(); ++i) {
      CHECK(growing.steps[i].norm == constant.steps[i].norm);
    }
  }
}

/// `at_floor::raise`: reading the result of the step that would fall below the minimum throws on
/// every rank; `stay`: the result says so.
template <class Platform, class Engine>
void floor_law(typename Engine::model_type const& model, int ranks) {
  for (auto const choice : {at_floor::stay, at_floor::raise}) {
    std::mutex mutex;
    int thrown = 0;
    int flagged = 0;
    training_job job;
    job.ranks = ranks;
    job.loss_scale = {.initial = 2, .hysteresis = 1, .minimum = 1, .at_floor = choice};
    job.evaluate = false;
    job.spoil = [](test::gradient_place const& place) {
      return place.rank == 0 ? std::numeric_limits<float>::quiet_NaN() : 0.0F;
    };
    Platform::run(ranks, [&](auto communicator) {
      auto engine =
          Platform::template make<Engine>(model, std::move(communicator), options_of<Engine>(job));
      engine.initialize(initial_values);
      test::training_rank<Platform, Engine> loop(engine, job);
      loop.step(0);
      bool const early = engine.result().at_floor;  // 2 to 1
      loop.step(1);
      std::lock_guard const lock(mutex);
      flagged += early ? 100 : 0;
      try {
        auto const result = engine.result();
        flagged += result.at_floor && !result.applied && result.loss_scale == 1 ? 1 : 0;
      } catch (numeric_error const&) {
        ++thrown;
      }
    });
    CHECK(thrown == (choice == at_floor::raise ? ranks : 0));
    CHECK(flagged == (choice == at_floor::stay ? ranks : 0));
  }
}

}  // namespace zero::laws
