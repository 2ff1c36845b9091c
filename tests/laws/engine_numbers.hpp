// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/laws/engine.hpp"
#include "tests/support/core_rank.hpp"
#include "tests/support/wild.hpp"

#include <zero/core/dtype.hpp>
#include <zero/optim/adamw.hpp>
#include <zero/optim/step_state.hpp>
#include <zero/plan/layout.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// @file
/// The laws of numbers: each step against a reference in FP64 that starts anew from the engine's
/// own state and the ranks' recorded gradients, and gradients whose sums are exact in any order.

namespace zero::laws {

/// Unit roundoff of FP32 and of an element type.
inline constexpr double fp32_unit = 0x1p-24;

[[nodiscard]] inline double unit_of(dtype type) {
  return type == dtype::fp32 ? fp32_unit : type == dtype::bf16 ? 0x1p-8 : 0x1p-11;
}

/// Half the distance of the smallest numbers of a type.
[[nodiscard]] inline double least_of(dtype type) {
  return type == dtype::fp32 ? 0x1p-150 : type == dtype::bf16 ? 0x1p-134 : 0x1p-25;
}

/// What all ranks bring to one element in one step, in FP64 (where these sums are exact or nearly
/// so), and how far from it an accumulator may be.
struct expected_sum {
  double value = 0;
  double magnitude = 0;  ///< sum of the contributions' magnitudes
};

/// A training of a core whose every step is compared with the reference. AdamW.
template <class Platform, class Engine>
class compared_rank {
 public:
  using rank_type = test::core_rank<Platform, Engine>;
  using policies = test::setup_of<Engine>;

  compared_rank(training_job const& job,
                typename Engine::model_type const& model,
                typename Engine::communicator_type communicator)
      : job_(job),
        rank_(communicator.rank()),
        side_(model, std::move(communicator), options_of<Engine>(job)) {
    side_.initialize(initial_values);
  }

  void steps() {
    for (std::int64_t step = 0; step < job_.steps; ++step) {
      compare_step(step);
    }
  }

  /// What went wrong, the first few in words.
  [[nodiscard]] std::vector<std::string> const& faults() const { return faults_; }

  /// How many numbers were compared.
  [[nodiscard]] std::int64_t checks() const { return checks_; }

 private:
  [[nodiscard]] execution_plan const& plan() const { return side_.plan(); }

  /// What the element of `parameter` gets from one rank in one micro-step, as the type holds it.
  [[nodiscard]] std::vector<float> contribution(
      std::size_t parameter, int rank, std::int64_t step, std::int64_t micro, float scale) const {
    auto const& p = plan().parameters[parameter];
    test::gradient_place place;
    place.rank = rank;
    place.ranks = job_.ranks;
    place.step = step;
    place.micro = micro;
    place.micro_steps = job_.micro_steps;
    place.unit = p.unit;
    place.tensor = static_cast<int>(parameter);
    place.type = p.type;
    place.loss_scale = scale;
    std::vector<float> values(static_cast<std::size_t>(p.elements));
    job_.gradients(place, values);
    visit_dtype(p.type, [&]<class T>(std::type_identity<T>) {
      for (float& value : values) {
        value = to_float(from_float<T>(value));
      }
    });
    return values;
  }

  void sum_contributions(std::int64_t step, float scale) {
    sums_.assign(plan().parameters.size(), {});
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      auto const& p = plan().parameters[i];
      if (p.traits.frozen) {
        continue;
      }
      sums_[i].resize(static_cast<std::size_t>(p.elements));
      for (std::int64_t micro = 0; micro < job_.micro_steps; ++micro) {
        for (int rank = 0; rank < job_.ranks; ++rank) {
          auto const values = contribution(i, rank, step, micro, scale);
          for (std::size_t e = 0; e < values.size(); ++e) {
            sums_[i][e].value += values[e];
            sums_[i][e].magnitude += std::fabs(values[e]);
          }
        }
      }
    }
  }

  /// How far an accumulator may be from the sum. Every addition of a chain of n rounds by at most
  /// the unit times the magnitudes; a sum in a 16-bit type rounds once a micro-step (and once more
  /// over the ranks), the communicator's own once a rank.
  [[nodiscard]] double sum_bound(expected_sum const& sum, dtype type) const {
    double const additions =
        static_cast<double>(job_.ranks) * static_cast<double>(job_.micro_steps);
    double const roundings =
        (policies::native_accumulate ? static_cast<double>(job_.micro_steps) + 1 : 0) +
        (policies::native_reduction ? job_.ranks + 1 : 0);
    return additions * fp32_unit * sum.magnitude +
           roundings * (unit_of(type) * sum.magnitude * 1.01 + additions * least_of(type));
  }

  struct state {
    std::vector<float> weight, first, second;
  };

  [[nodiscard]] state read_state(unit_range const& r) const {
    auto const& memory = side_.core().memory();
    auto const n = memory.places().owned_elements(r);
    auto const& places = memory.places();
    auto const layout = state_layout_of(places.plan().config, r.type);
    auto const read = [&](place const& at) {
      return rank_type::template read<float>(memory.at(at), n);
    };
    return {read(places.masters(r)),
            read(places.state(r, layout.find(state_role::moment, 0))),
            read(places.state(r, layout.find(state_role::moment, 1)))};
  }

  [[nodiscard]] std::vector<float> read_wide(void const* from, std::int64_t n, dtype type) const {
    std::vector<float> wide;
    visit_dtype(type, [&]<class T>(std::type_identity<T>) {
      for (T const value : rank_type::template read<T>(from, n)) {
        wide.push_back(to_float(value));
      }
    });
    return wide;
  }

  void compare_step(std::int64_t step) {
    auto& core = side_.core();
    float const scale = Platform::read(core.loss_scale(), 1).front();
    std::vector<state> before;
    for (auto const& r : plan().layout.ranges) {
      before.push_back(r.frozen ? state{} : read_state(r));
    }
    sum_contributions(step, scale);
    for (std::int64_t micro = 0; micro < job_.micro_steps; ++micro) {
      side_.micro_step(micro, job_.micro_steps, [&](std::size_t parameter) {
        return contribution(parameter, rank_, step, micro, scale);
      });
    }
    double const lr = job_.lr * static_cast<double>(step + 1);
    side_.step({.lr = lr,
                .gradient_scale = job_.gradient_scale,
                .device_gradient_scale = job_.device_gradient_scale},
               job_.micro_steps);
    auto const record = core.result();
    double const factor = compare_record(record, scale);
    for (std::size_t r = 0; r < plan().layout.ranges.size(); ++r) {
      if (!plan().layout.ranges[r].frozen) {
        compare_range(static_cast<std::int32_t>(r), before[r], factor, lr, step + 1);
      }
    }
  }

  /// What multiplies a sum: everything but the clip factor.
  [[nodiscard]] double unscale(float scale) const {
    double const mean =
        job_.mean ? 1.0 / (static_cast<double>(job_.ranks) * static_cast<double>(job_.micro_steps))
                  : 1.0;
    double const device = job_.device_gradient_scale == nullptr
                              ? 1.0
                              : Platform::read(job_.device_gradient_scale, 1).front();
    return mean * job_.gradient_scale * device / static_cast<double>(scale);
  }

  /// Norm and clip factor; gives the reference's factor of all gradients.
  double compare_record(step_record const& record, float scale) {
    double squares = 0;
    double bound = 0;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      for (auto const& sum : sums_[i]) {
        squares += sum.value * sum.value;
        double const off = sum_bound(sum, plan().parameters[i].type);
        bound += off * off;
      }
    }
    // The norm of a sum of vectors is off by at most the norm of what they are off by.
    double const norm = std::sqrt(squares) * std::fabs(unscale(scale));
    near(record.norm, norm, std::sqrt(bound) * std::fabs(unscale(scale)) + 1e-12 * norm, "norm");
    double factor = 1;
    if (job_.clip_norm > 0) {
      factor = std::min(1.0, job_.clip_norm / (record.norm + 1e-6));
    }
    near(record.clip_factor, factor, 1e-15, "clip factor");
    near(record.applied ? 1 : 0, 1, 0, "applied");
    return unscale(scale) * factor;
  }

  void compare_range(
      std::int32_t index, state const& before, double factor, double lr, std::int64_t t) {
    auto const& r = plan().layout.ranges[static_cast<std::size_t>(index)];
    auto const& memory = side_.core().memory();
    auto const n = memory.places().owned_elements(r);
    auto const begin = memory.places().owned_begin(r);
    auto const after = read_state(r);
    auto const accumulator_type =
        accumulator_bytes(plan().config, r.type) == 4 ? dtype::fp32 : r.type;
    auto const sums =
        read_wide(memory.at(memory.places().owned_accumulators(r)), n, accumulator_type);
    auto const parameters = read_wide(memory.at(memory.places().owned_parameters(r)), n, r.type);
    std::vector<char> is_parameter(static_cast<std::size_t>(n), char{0});
    for (std::size_t i = 0; i < plan().parameters.size(); ++i) {
      auto const& place = plan().layout.places[i];
      if (place.range != index) {
        continue;
      }
      for (std::int64_t e = 0; e < plan().parameters[i].elements; ++e) {
        auto const at = place.offset + e - begin;
        if (at < 0 || at >= n) {
          continue;
        }
        auto const a = static_cast<std::size_t>(at);
        is_parameter[a] = 1;
        auto const& sum = sums_[i][static_cast<std::size_t>(e)];
        // FP16 accumulators have no more room than the wire and keep the mean over the ranks; FP32
        // ones keep the sum, in every stage.
        double const kept = averaged() && policies::native_accumulate ? 1.0 / job_.ranks : 1.0;
        double const undone = averaged() && !policies::native_accumulate ? job_.ranks : 1.0;
        near(sums[a],
             sum.value * kept,
             sum_bound(sum, r.type) * kept + least(r.type) * undone,
             "sum");
        compare_element({before.weight[a], before.first[a], before.second[a]},
                        {after.weight[a], after.first[a], after.second[a]},
                        static_cast<double>(sums[a]) * factor / kept,
                        lr,
                        t,
                        plan().parameters[i].traits);
        bool rounded = false;
        visit_dtype(r.type, [&]<class T>(std::type_identity<T>) {
          rounded =
              to_float(test::rounded<T>(static_cast<double>(after.weight[a]))) == parameters[a];
        });
        near(rounded ? 1 : 0, 1, 0, "parameter");
      }
    }
    for (std::size_t a = 0; a < is_parameter.size(); ++a) {
      if (is_parameter[a] == 0) {
        bool const zero = sums[a] == 0 && after.weight[a] == 0 && after.first[a] == 0 &&
                          after.second[a] == 0 && parameters[a] == 0;
        near(zero ? 0 : 1, 0, 0, "padding");
      }
    }
  }

  /// Whether contributions are divided by the number of ranks before they are added.
  [[nodiscard]] bool averaged() const {
    return policies::native_reduction && job_.ranks > 1 &&
           std::is_same_v<typename policies::parameter_type, fp16>;
  }

  [[nodiscard]] double least(dtype type) const {
    return policies::native_reduction
               ? 2.0 * job_.ranks * static_cast<double>(job_.micro_steps) * least_of(type)
               : 0;
  }

  struct element {
    double weight, first, second;
  };

  /// AdamW by its definition. The gradient is off by two roundings (coefficient and product), each
  /// moment by a few more; bounds of docs: 2^-21 of the terms of m, 2^-20 of those of v (the
  /// gradient enters squared), 2^-20 for w.
  void compare_element(element const& before,
                       element const& after,
                       double g,
                       double lr,
                       std::int64_t t,
                       parameter_traits const& traits) {
    AdamW::options const o{};
    double const keep = 1 - lr * traits.lr_scale * (traits.weight_decay ? o.weight_decay : 0);
    double const step = lr * traits.lr_scale / (1 - std::pow(o.beta1, static_cast<double>(t)));
    double const correction = std::sqrt(1 - std::pow(o.beta2, static_cast<double>(t)));
    double const m = o.beta1 * before.first + (1 - o.beta1) * g;
    double const m_terms = o.beta1 * std::fabs(before.first) + (1 - o.beta1) * std::fabs(g);
    double const v = o.beta2 * before.second + (1 - o.beta2) * g * g;
    double const denominator = std::sqrt(v) / correction + o.eps;
    double const w = before.weight * keep - step * m / denominator;
    constexpr double tiny = 0x1p-147;  // of denormal results
    near(after.first, m, 0x1p-21 * m_terms + tiny, "first moment");
    near(after.second, v, 0x1p-20 * v + tiny, "second moment");
    near(after.weight,
         w,
         0x1p-20 * (std::fabs(before.weight * keep) + step * m_terms / denominator) + tiny,
         "weight");
  }

  void near(double value, double expected, double bound, char const* what) {
    ++checks_;
    if (!(std::fabs(value - expected) <= bound)) {
      if (faults_.size() < 5) {
        faults_.push_back(std::string(what) + ": " + std::to_string(value) + " is not within " +
                          std::to_string(bound) + " of " + std::to_string(expected) + ", off by " +
                          std::to_string(std::fabs(value - expected)) + " (rank " +
                          std::to_string(rank_) + ", check " + std::to_string(checks_) + ")");
      }
    }
  }

  training_job job_;
  int rank_;
  rank_type side_;
  std::vector<std::vector<expected_sum>> sums_;
  std::vector<std::string> faults_;
  std::int64_t checks_ = 0;
};

/// Each step equals the reference in FP64, and padding stays zero.
template <class Platform, class Engine>
void steps_equal_reference(training_job const& job, typename Engine::model_type const& model) {
  std::mutex mutex;
  std::vector<std::string> faults;
  std::int64_t checks = 0;
  Platform::run(job.ranks, [&](auto communicator) {
    compared_rank<Platform, Engine> rank(job, model, std::move(communicator));
    rank.steps();
    std::lock_guard const lock(mutex);
    faults.insert(faults.end(), rank.faults().begin(), rank.faults().end());
    checks += rank.checks();
  });
  CHECK(checks > 100'000 * job.steps);  // five numbers an element
  for (auto const& fault : faults) {
    FAIL_CHECK(fault);
  }
}

template <class Platform, class Model, class... Policies>
void stage_equals_reference(training_job const& job, Model const& model) {
  switch (job.stage) {
    case 0:
      return steps_equal_reference<Platform, engine_on<Platform, Model, Stage<0>, Policies...>>(
          job, model);
    case 1:
      return steps_equal_reference<Platform, engine_on<Platform, Model, Stage<1>, Policies...>>(
          job, model);
    case 2:
      return steps_equal_reference<Platform, engine_on<Platform, Model, Stage<2>, Policies...>>(
          job, model);
    default:
      return steps_equal_reference<Platform, engine_on<Platform, Model, Stage<3>, Policies...>>(
          job, model);
  }
}

/// All stages, several numbers of ranks and micro-steps, clipped and not, mean and sum.
template <class Platform, class Model, class... Policies>
void reference_law(Model const& model) {
  for (int const ranks : {1, 3, 4}) {
    for (std::int64_t const micro_steps : {1, 3}) {
      for (int stage = 0; stage < 4; ++stage) {
        CAPTURE(ranks);
        CAPTURE(micro_steps);
        CAPTURE(stage);
        training_job job;
        job.ranks = ranks;
        job.micro_steps = micro_steps;
        job.stage = stage;
        job.steps = 3;
        job.clip_norm = stage % 2 == 0 ? 1 : 0;
        job.mean = micro_steps == 1;
        job.gradient_scale = micro_steps == 1 ? 1 : 0.0371;
        stage_equals_reference<Platform, Model, Policies...>(job, model);
      }
    }
  }
}

// --- exact gradients
// -------------------------------------------------------------------------------

/// Samples of one step, shared out among ranks and micro-steps in turn; the gradient of each is a
/// small integer times a power of two, so that all sums of them are exact in every type and order.
inline constexpr std::int64_t exact_samples = 16;

inline void exact_gradients(test::gradient_place const& place, std::span<float> values) {
  auto const parts = place.ranks * place.micro_steps;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::int64_t sum = 0;
    for (std::int64_t sample = place.rank + place.ranks * place.micro; sample < exact_samples;
         sample += parts) {
      auto const key = mix_hash(static_cast<std::uint64_t>(sample * 100 + place.step),
                                static_cast<std::uint64_t>(place.unit * 10 + place.tensor),
                                i);
      sum += static_cast<std::int64_t>(key % 15) - 7;
    }
    values[i] = static_cast<float>(sum) * 0x1p-6F * place.loss_scale;
  }
}

[[nodiscard]] inline training_job exact_job(int ranks, std::int64_t micro_steps, int stage) {
  training_job job;
  job.ranks = ranks;
  job.micro_steps = micro_steps;
  job.stage = stage;
  job.mean = false;
  job.gradient_scale = 1.0 / static_cast<double>(exact_samples);
  job.clip_norm = 0.5;
  job.gradients = exact_gradients;
  job.evaluate = false;
  job.empty_visits = false;
  job.loss_scale = {.initial = 4, .window = 2};
  return job;
}

/// Where every sum is exact, every number of ranks, of micro-steps and every stage agree bit for
/// bit, norms included.
template <class Platform, class Model, class... Policies>
void exact_gradients_agree(Model const& model, std::vector<int> const& all_ranks) {
  auto const expected = train_stage<Platform, Model, Policies...>(exact_job(1, 1, 0), model);
  for (auto const& step : expected.steps) {
    CHECK(step.applied);
    CHECK(step.clip_factor < 1);
  }
  for (int const ranks : all_ranks) {
    for (std::int64_t const micro_steps : {1, 2, 5}) {
      for (int stage = 0; stage < 4; ++stage) {
        CAPTURE(ranks);
        CAPTURE(micro_steps);
        CAPTURE(stage);
        auto const outcome =
            train_stage<Platform, Model, Policies...>(exact_job(ranks, micro_steps, stage), model);
        CHECK(outcome.parameters == expected.parameters);
        CHECK(outcome.replicas == expected.replicas);
        for (std::size_t i = 0; i < outcome.steps.size(); ++i) {
          CHECK(outcome.steps[i].norm == expected.steps[i].norm);
          CHECK(outcome.steps[i].clip_factor == expected.steps[i].clip_factor);
        }
      }
    }
  }
}

// --- the explicit scale
// ----------------------------------------------------------------------------

/// `gradient_scale` as a number, in device memory, and by hand; mean and sum.
template <class Platform, class Model, class... Policies>
void gradient_scale_law(Model const& model, int ranks, int stage) {
  CAPTURE(ranks);
  CAPTURE(stage);
  training_job job;
  job.ranks = ranks;
  job.stage = stage;
  job.micro_steps = 2;
  job.steps = 2;
  job.evaluate = false;
  auto const outcome_of = [&](auto change) {
    training_job changed = job;
    change(changed);
    return train_stage<Platform, Model, Policies...>(changed, model);
  };
  auto const by_hand = outcome_of([](training_job& j) {
    j.gradients = [](test::gradient_place const& place, std::span<float> values) {
      test::wild_gradients(place, values);
      for (float& value : values) {
        value *= 0.25F;
      }
    };
  });
  auto const quarter = Platform::number(0.25);
  auto const by_number = outcome_of([](training_job& j) { j.gradient_scale = 0.25; });
  auto const by_address =
      outcome_of([&](training_job& j) { j.device_gradient_scale = quarter.get(); });
  CHECK(by_number == by_address);
  CHECK(by_number.parameters == by_hand.parameters);  // a power of two changes no fraction
  CHECK(by_number.steps.back().norm == by_hand.steps.back().norm);

  auto const both = outcome_of([&](training_job& j) {
    j.gradient_scale = 3;
    j.device_gradient_scale = quarter.get();
  });
  CHECK(both == outcome_of([](training_job& j) { j.gradient_scale = 0.75; }));

  auto const sum = outcome_of([&](training_job& j) {
    j.mean = false;
    j.gradient_scale = 1.0 / (static_cast<double>(ranks) * 2);
  });
  CHECK(sum == outcome_of([](training_job&) {}));
}

/// A scale that is no number skips the step, and leaves everything as it is.
template <class Platform, class Model, class... Policies>
void bad_scale_law(Model const& model) {
  for (int stage = 0; stage < 4; ++stage) {
    training_job job;
    job.ranks = 3;
    job.stage = stage;
    job.steps = 1;
    job.evaluate = false;
    auto const initial = [&] {
      training_job none = job;
      none.steps = 0;
      return train_stage<Platform, Model, Policies...>(none, model).parameters;
    }();
    job.gradient_scale = std::numeric_limits<double>::infinity();
    auto const outcome = train_stage<Platform, Model, Policies...>(job, model);
    CHECK_FALSE(outcome.steps[0].applied);
    CHECK(outcome.steps[0].reason == skip_reason::nonfinite_scale);
    CHECK(outcome.parameters == initial);
  }
}

/// A gradient of zeros is a legal step; so is one whose squares are beyond FP32.
template <class Platform, class Model, class... Policies>
void extreme_gradients_law(Model const& model, float large) {
  for (int stage = 0; stage < 4; ++stage) {
    CAPTURE(stage);
    training_job job;
    job.ranks = 3;
    job.stage = stage;
    job.steps = 2;
    job.clip_norm = 1;
    job.evaluate = false;
    job.gradients = [](test::gradient_place const&, std::span<float> values) {
      std::fill(values.begin(), values.end(), 0.0F);
    };
    auto const zeros = train_stage<Platform, Model, Policies...>(job, model);
    for (auto const& step : zeros.steps) {
      CHECK(step.applied);
      CHECK(step.norm == 0);
      CHECK(step.clip_factor == 1);
    }
    job.gradients = [large](test::gradient_place const& place, std::span<float> values) {
      std::fill(values.begin(), values.end(), place.type == dtype::fp16 ? 3e4F : large);
    };
    job.loss_scale = {.initial = 1};
    job.gradient_scale = 0.5;
    job.empty_visits = false;
    auto const huge = train_stage<Platform, Model, Policies...>(job, model);
    for (auto const& step : huge.steps) {
      CHECK(step.applied);
      CHECK(std::isfinite(step.norm));
      CHECK(step.clip_factor < 1);
    }
    CHECK(huge.parameters != zeros.parameters);
  }
}

}  // namespace zero::laws
