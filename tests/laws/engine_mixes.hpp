// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/laws/engine_bits.hpp"
#include "tests/laws/engine_memory.hpp"
#include "tests/laws/engine_numbers.hpp"
#include "tests/laws/engine_wire.hpp"
#include "tests/support/closed_form.hpp"
#include "tests/support/drawn_stages.hpp"
#include "tests/support/text.hpp"

#include <zero/model/unit.hpp>
#include <zero/plan/pools.hpp>
#include <zero/policy/stage.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

/// @file
/// The laws of mixes: an engine whose units are in several stages gives the bits, or the numbers,
/// of the unmixed ones, and each unit costs what its own stage costs.

namespace zero::laws {

/// Calls `f<N>()` for the stage `N` of the run.
template <class F>
void with_stage(int stage, F f) {
  switch (stage) {
    case 0:
      return f.template operator()<0>();
    case 1:
      return f.template operator()<1>();
    case 2:
      return f.template operator()<2>();
    default:
      return f.template operator()<3>();
  }
}

/// A mix of stages from `low` to `high`, in words for messages, and in force.
class random_mix {
 public:
  template <class Model>
  random_mix(std::mt19937& random, Model const& model, int low, int high)
      : stage_(low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1))),
        stages_(test::draw_stages(random, unit_count(model), low, high)),
        mix_(stages_) {}

  /// Of the engine, and so of its unit of resident parameters.
  [[nodiscard]] int stage() const { return stage_; }

  [[nodiscard]] std::string text() const {
    auto text = "stage " + std::to_string(stage_) + ", units";
    for (int const stage : stages_) {
      text += " " + std::to_string(stage);
    }
    return text;
  }

 private:
  int stage_;
  std::vector<std::int8_t> stages_;
  test::drawn_mix mix_;
};

/// Settings of the schedule that change no bit, drawn for a mix.
inline void draw_settings(std::mt19937& random, training_job& job) {
  job.prefetch_units = static_cast<int>(random() % 4);
  job.piece_bytes = random() % 2 == 0 ? 1 : std::int64_t{32} << 20;
  job.gather_tied = random() % 2 == 0;
  job.poison = random() % 2 == 0;
  job.overlap = random() % 4 != 0;
}

/// Mixes of stages 0 and 1 give their bits, mixes of 2 and 3 theirs, and with one micro-step (or
/// one rank) mixes of all four those of all. Clipping is active and a step is skipped.
template <class Platform, class Model, class... Policies>
void mixes_agree(Model const& model, int ranks, unsigned seed) {
  using test::DrawnStages;
  std::mt19937 random(seed);
  for (std::int64_t const micro_steps : {1, 2, 3}) {
    CAPTURE(ranks);
    CAPTURE(micro_steps);
    auto const pure = [&](int stage) {
      auto job = clipped_job(ranks, micro_steps);
      job.stage = stage;
      return train_stage<Platform, Model, DrawnStages, Policies...>(job, model);
    };
    auto const mix_equals = [&](training_outcome const& expected, int low, int high) {
      random_mix const mix(random, model, low, high);
      CAPTURE(mix.text());
      auto job = clipped_job(ranks, micro_steps);
      job.stage = mix.stage();
      draw_settings(random, job);
      auto const outcome = train_stage<Platform, Model, DrawnStages, Policies...>(job, model);
      CHECK(outcome == expected);
    };
    auto const whole = pure(0);
    auto const sharded = pure(3);
    check_clipped(whole);
    check_clipped(sharded);
    mix_equals(whole, 0, 1);
    mix_equals(sharded, 2, 3);
    if (micro_steps == 1 || ranks == 1) {
      for (int draw = 0; draw < 3; ++draw) {
        mix_equals(whole, 0, 3);
      }
    }
  }
}

/// Each step of a mix of all stages equals the reference in FP64, for any number of micro-steps.
template <class Platform, class Model, class... Policies>
void mixes_equal_reference(Model const& model, unsigned seed) {
  std::mt19937 random(seed);
  for (int const ranks : {2, 3, 5}) {
    for (std::int64_t const micro_steps : {1, 2, 3}) {
      random_mix const mix(random, model, 0, 3);
      CAPTURE(ranks);
      CAPTURE(micro_steps);
      CAPTURE(mix.text());
      training_job job;
      job.ranks = ranks;
      job.micro_steps = micro_steps;
      job.stage = mix.stage();
      job.steps = 3;
      job.clip_norm = random() % 2 == 0 ? 1 : 0;
      job.mean = random() % 2 == 0;
      job.gradient_scale = job.mean ? 1 : 0.0371;
      stage_equals_reference<Platform, Model, test::DrawnStages, Policies...>(job, model);
    }
  }
}

/// Where every sum is exact, every mix has the bits of one rank, norms included.
template <class Platform, class Model, class... Policies>
void exact_mixes_agree(Model const& model, std::vector<int> const& all_ranks, unsigned seed) {
  std::mt19937 random(seed);
  auto const outcome_of = [&](training_job const& job) {
    return train_stage<Platform, Model, test::DrawnStages, Policies...>(job, model);
  };
  auto const expected = outcome_of(exact_job(1, 1, 0));
  for (int const ranks : all_ranks) {
    for (std::int64_t const micro_steps : {1, 2, 3}) {
      random_mix const mix(random, model, 0, 3);
      CAPTURE(ranks);
      CAPTURE(micro_steps);
      CAPTURE(mix.text());
      auto const outcome = outcome_of(exact_job(ranks, micro_steps, mix.stage()));
      CHECK(outcome.parameters == expected.parameters);
      CHECK(outcome.replicas == expected.replicas);
      for (std::size_t i = 0; i < outcome.steps.size(); ++i) {
        CHECK(outcome.steps[i].norm == expected.steps[i].norm);
        CHECK(outcome.steps[i].clip_factor == expected.steps[i].clip_factor);
      }
    }
  }
}

/// What a communicator counts, the schedule and the closed form agree on any mix; so do the pools,
/// as planned, as allocated and by the closed form, and the formula.
template <class Platform, class Model, class... Policies>
void mixes_cost_what_their_units_cost(Model const& model, int draws, unsigned seed) {
  std::mt19937 random(seed);
  constexpr int worlds[] = {1, 2, 3, 5, 8};
  for (int draw = 0; draw < draws; ++draw) {
    random_mix const mix(random, model, 0, 3);
    CAPTURE(mix.text());
    training_job job;
    job.ranks = worlds[draw % 5];
    job.micro_steps = 1 + static_cast<std::int64_t>(random() % 3);
    job.residency_bytes = random() % 2 == 0 ? 0 : 600;
    draw_settings(random, job);
    with_stage(mix.stage(), [&]<int Number> {
      using engine = engine_on<Platform, Model, Stage<Number>, test::DrawnStages, Policies...>;
      wire_law<Platform, engine>(job, model);
      pools_law<Platform, engine>(job, model, [](auto const& /*pools*/) {});
      test::closed_form const form(model, question_of<engine>(job, model));
      auto const plan = zero::plan<engine>(model, job.ranks, options_of<engine>(job));
      std::int64_t states = 0;
      for (auto const p : {pool::parameters, pool::gradients, pool::optimizer}) {
        states += plan.pools.rows[static_cast<std::size_t>(p)].formula;
      }
      CHECK(states == form.state_payload_bytes());
    });
  }
}

}  // namespace zero::laws
