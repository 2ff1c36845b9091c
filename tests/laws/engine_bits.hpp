// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/laws/engine.hpp"

#include <zero/optim/step_state.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

/// @file
/// The laws of bits: at equal ranks and gradients the stages, the settings and the timing change
/// none. For `Reduction<Ordered>`, and for `Reduction<Native>` on a communicator that sums in a
/// fixed order.

namespace zero::laws {

/// Clipping bites in every step, and in the second one a rank has a gradient that is not finite.
[[nodiscard]] inline training_job clipped_job(int ranks, std::int64_t micro_steps) {
  training_job job;
  job.ranks = ranks;
  job.micro_steps = micro_steps;
  job.clip_norm = 1;
  job.spoil = [](test::gradient_place const& place) {
    bool const here = place.step == 1 && place.rank == 1 % place.ranks && place.micro == 0;
    return here ? std::numeric_limits<float>::infinity() : 0.0F;
  };
  return job;
}

/// Whether a clipped job went as it should: the second step skipped, all others clipped.
inline void check_clipped(training_outcome const& outcome) {
  for (std::size_t i = 0; i < outcome.steps.size(); ++i) {
    step_record const& step = outcome.steps[i];
    CAPTURE(i);
    CHECK(step.step == static_cast<std::int64_t>(i) + 1);
    CHECK(step.applied == (i != 1));
    CHECK(step.reason == (i != 1 ? skip_reason::none : skip_reason::nonfinite_gradient));
    CHECK((step.clip_factor < 1) == (i != 1));
    CHECK(step.skipped_in_row == (i != 1 ? 0 : 1));
  }
}

/// Stages 0 = 1 and 2 = 3 for any number of micro-steps, all four for one. Clipping is active and a
/// step is skipped.
template <class Platform, class Model, class... Policies>
void stages_agree(Model const& model, int ranks) {
  for (std::int64_t const micro_steps : {1, 2, 5}) {
    CAPTURE(ranks);
    CAPTURE(micro_steps);
    training_job job = clipped_job(ranks, micro_steps);
    std::vector<training_outcome> outcomes;
    for (job.stage = 0; job.stage < 4; ++job.stage) {
      outcomes.push_back(train_stage<Platform, Model, Policies...>(job, model));
    }
    check_clipped(outcomes.front());
    CHECK(outcomes[0] == outcomes[1]);
    CHECK(outcomes[2] == outcomes[3]);
    if (micro_steps == 1 || ranks == 1) {
      CHECK(outcomes[0] == outcomes[2]);
    }
  }
}

/// The order in which ranks are added matters to the data of these laws, so that a reduction in
/// another order would be noticed.
template <class Platform, class Model, class... Policies>
void order_is_seen(Model const& model, int ranks) {
  CAPTURE(ranks);
  for (int const stage : {0, 3}) {
    training_job job;
    job.ranks = ranks;
    job.stage = stage;
    job.evaluate = false;
    auto const forward = train_stage<Platform, Model, Policies...>(job, model);
    job.reversed = true;
    auto const backward = train_stage<Platform, Model, Policies...>(job, model);
    // Two numbers have one sum.
    CHECK((forward.parameters == backward.parameters) == (ranks < 3));
  }
}

/// The job with one setting changed, and what was changed.
[[nodiscard]] inline std::vector<std::pair<std::string, training_job>> other_settings(
    training_job const& job) {
  std::vector<std::pair<std::string, training_job>> jobs;
  auto const add = [&](std::string name, auto change) {
    jobs.emplace_back(std::move(name), job);
    change(jobs.back().second);
  };
  add("the same again", [](training_job&) {});
  add("no overlap", [](training_job& j) { j.overlap = false; });
  for (int const units : {0, 2, 3}) {
    add("prefetch " + std::to_string(units), [&](training_job& j) { j.prefetch_units = units; });
  }
  for (std::int64_t const bytes : {1, 40'000, 100'000}) {
    add("pieces of " + std::to_string(bytes), [&](training_job& j) { j.piece_bytes = bytes; });
  }
  add("gathered tied unit", [](training_job& j) { j.gather_tied = true; });
  add("gathered tied unit, prefetch 2", [](training_job& j) {
    j.gather_tied = true;
    j.prefetch_units = 2;
  });
  add("poison", [](training_job& j) { j.poison = true; });
  add("poison, delays, small pieces", [](training_job& j) {
    j.poison = true;
    j.delays = true;
    j.piece_bytes = 1;
    j.gather_tied = true;
  });
  return jobs;
}

/// No setting of the schedule changes a bit, neither do delays nor NaN in slots that nobody should
/// read.
template <class Platform, class Model, class... Policies>
void settings_change_nothing(Model const& model, int ranks, int stage, std::int64_t micro_steps) {
  CAPTURE(ranks);
  CAPTURE(stage);
  CAPTURE(micro_steps);
  training_job job = clipped_job(ranks, micro_steps);
  job.stage = stage;
  job.steps = 3;
  auto const expected = train_stage<Platform, Model, Policies...>(job, model);
  check_clipped(expected);
  for (auto const& other : other_settings(job)) {  // no structured binding: clang 14 captures none
    CAPTURE(other.first);
    auto const outcome = train_stage<Platform, Model, Policies...>(other.second, model);
    CHECK(outcome == expected);
  }
}

/// Which parameters are resident changes the shards, and with them the blocks of the norm, but
/// nothing else: without clipping no bit.
template <class Platform, class Model, class... Policies>
void residency_changes_nothing(Model const& model, int ranks) {
  CAPTURE(ranks);
  training_job job;
  job.ranks = ranks;
  auto const outcome_of = [&](int stage, std::int64_t bytes) {
    job.stage = stage;
    job.residency_bytes = bytes;
    return train_stage<Platform, Model, Policies...>(job, model);
  };
  auto const expected = outcome_of(0, 600);
  for (std::int64_t const bytes :
       {std::int64_t{0}, std::int64_t{16} << 10, std::int64_t{1} << 30}) {
    CAPTURE(bytes);
    for (int const stage : {0, 3}) {
      CAPTURE(stage);
      auto const outcome = outcome_of(stage, bytes);
      CHECK(outcome.parameters == expected.parameters);
      CHECK(outcome.replicas == expected.replicas);
      CHECK(outcome.observed == expected.observed);
    }
  }
}

/// A step that was skipped leaves no trace in parameters, moments or step count: the others give
/// what they give without it.
template <class Platform, class Model, class... Policies>
void skipped_step_leaves_no_trace(Model const& model, int ranks) {
  CAPTURE(ranks);
  training_job without;
  without.ranks = ranks;
  without.steps = 3;
  without.clip_norm = 1;
  without.loss_scale.dynamic = false;
  training_job with = without;
  with.steps = 4;
  with.evaluate = without.evaluate = false;
  // Steps 0, 1, 3 of the one are steps 0, 1, 2 of the other.
  with.gradients = [](test::gradient_place place, std::span<float> values) {
    place.step -= place.step > 2 ? 1 : 0;
    test::wild_gradients(place, values);
  };
  with.empty_visits = without.empty_visits = false;
  for (float const value : {std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    with.spoil = [value](test::gradient_place const& place) {
      return place.step == 2 && place.rank == place.ranks - 1 ? value : 0.0F;
    };
    for (int stage = 0; stage < 4; ++stage) {
      CAPTURE(stage);
      with.stage = without.stage = stage;
      auto const expected = train_stage<Platform, Model, Policies...>(without, model);
      auto const outcome = train_stage<Platform, Model, Policies...>(with, model);
      CHECK(outcome.steps[2].reason == skip_reason::nonfinite_gradient);
      CHECK(outcome.parameters == expected.parameters);
      CHECK(outcome.replicas == expected.replicas);
    }
  }
}

}  // namespace zero::laws
