// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "allocation_count.hpp"
#include "batch.hpp"
#include "blas.hpp"
#include "corpus.hpp"
#include "float_copy.hpp"
#include "network.hpp"
#include "options.hpp"
#include "passes.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "reporting.hpp"
#include "sampler.hpp"
#include "step_timeline.hpp"
#include "step_traffic.hpp"
#include "tuning.hpp"
#include "weights.hpp"

#include <zero/zero.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace train_gpt {

/// One rank's part in a training run. Construction and every member function are collective.
template <class Engine>
class trainer {
 public:
  using model = typename Engine::model_type;

  trainer(options const& chosen,
          corpus const& text,
          typename Engine::communicator_type communicator)
      : chosen_(chosen),
        text_(text),
        schedule_(chosen),
        engine_(model(chosen.shape), std::move(communicator), engine_options<Engine>(chosen)),
        network_(chosen.shape, chosen.batch),
        weights_(chosen.shape),
        gradients_(chosen.shape),
        windows_(chosen.batch, chosen.shape.context) {
    start_weights(engine_, chosen);
  }

  /// Trains, and tells what happened. Only rank 0's report is complete.
  run_report run() {
    run_report report = begin_report(engine_, chosen_);
    report.matrix_products = host_matrix_products();
    report.attention = "matrix products";
    std::vector<double> local_losses(static_cast<std::size_t>(chosen_.steps));
    progress shown(report, rank() == 0);
    step_timeline<Engine> timeline(engine_, chosen_);

    std::optional<double> validation = traffic_.start([&] { return validate(); });
    auto const allocations_before = allocations_so_far();
    for (std::int64_t step = 0; step < chosen_.steps; ++step) {
      timeline.before_step(step);
      shown.begin_step();
      double const loss = local_losses[static_cast<std::size_t>(step)] = train_step(step);
      auto const result = engine_.result();
      shown.end_step();
      report.applied_steps = result.applied_steps;
      report.skipped_steps = result.step - result.applied_steps;

      if (schedule_.validates_after(step)) {
        validation = report.validation_losses.emplace_back(validate());
      }
      if (schedule_.prints_after(step)) {
        shown.print(traffic_.mean(loss), validation);
      }
    }
    traffic_.meet();  // all steps have ended, and nobody allocates before the next meeting
    if (allocations_before) {
      report.allocations_per_step =
          static_cast<double>(*allocations_so_far() - *allocations_before) /
          static_cast<double>(chosen_.steps);
    }
    traffic_.meet();
    timeline.write();
    end_report(
        report,
        engine_,
        traffic_,
        shown,
        [&](std::int64_t step) { return local_losses[static_cast<std::size_t>(step)]; },
        [&] { return generate(); });
    return report;
  }

 private:
  [[nodiscard]] int rank() const { return engine_.rank(); }

  /// One optimizer step. Returns this rank's loss, the mean over its micro-steps.
  double train_step(std::int64_t step) {
    double loss = 0;
    for (auto const micro : engine_.micro_steps(chosen_.micro_steps)) {
      // Numbered so that all ranks together see the same windows whatever the stage.
      std::int64_t const turn = step * chosen_.micro_steps + micro.index;
      std::int64_t const first = (turn * chosen_.ranks + rank()) * chosen_.batch;
      for (std::int64_t i = 0; i < chosen_.batch; ++i) {
        windows_.set(i, text_.training_window(chosen_.seed, static_cast<std::uint64_t>(first + i)));
      }
      loss += forward(engine_, *engine_.loss_scale());
      backward<model>(engine_, network_, weights_, gradients_, chosen_.shape.layers);
    }
    engine_.step({.lr = schedule_.learning_rate(step)});
    return loss / static_cast<double>(chosen_.micro_steps);
  }

  /// The loss of the windows at hand. `gradient_scale` multiplies its gradient.
  template <class Pass>
  double forward(Pass& pass, float gradient_scale) {
    network_.begin(windows_.tokens(), chosen_.batch, chosen_.shape.context);
    forward_to_head<model>(pass, network_, weights_, chosen_.shape.layers);
    auto const lease = pass.forward(&model::embed);
    return network_.head(weights_.of(*lease), windows_.targets(), gradient_scale);
  }

  /// The mean loss of windows that were held out; each rank takes its part of them.
  double validate() {
    traffic_.count_validation();
    double loss = 0;
    for (std::int64_t turn = 0; turn < validation_batches; ++turn) {
      std::int64_t const first = (turn * chosen_.ranks + rank()) * chosen_.batch;
      std::int64_t const count = validation_batches * chosen_.ranks * chosen_.batch;
      for (std::int64_t i = 0; i < chosen_.batch; ++i) {
        windows_.set(i, text_.validation_window(first + i, count));
      }
      auto pass = engine_.evaluation();
      loss += forward(pass, 1.0f);
      pass.end();
    }
    return traffic_.mean(loss / validation_batches);
  }

  /// Rank 0 writes a text, a token a pass; the others serve the parameters it needs.
  std::string generate() {
    sampler text(chosen_.seed);
    for (int i = 0; i < sample_length; ++i) {
      auto pass = engine_.evaluation();
      if (rank() == 0) {
        auto const tokens = text.latest(chosen_.shape.context);
        network_.begin(tokens.data(), 1, static_cast<std::int64_t>(tokens.size()));
        forward_to_head<model>(pass, network_, weights_, chosen_.shape.layers);
        auto const lease = pass.forward(&model::embed);
        text.draw(network_.predict(weights_.of(*lease)));
      } else {
        pass.follow();
      }
    }
    return text.printable();
  }

  static constexpr std::int64_t validation_batches = 4;  // a rank, each time
  static constexpr int sample_length = 400;

  options const& chosen_;
  corpus const& text_;
  schedule schedule_;
  Engine engine_;
  step_traffic<Engine> traffic_{engine_};
  network<float> network_;
  float_copy weights_;
  float_copy gradients_;
  batch windows_;
};

/// Trains with one engine type: `chosen.ranks` ranks, each a thread of this process.
template <class Engine>
run_report train(options const& chosen, corpus const& text) {
  run_report result;
  zero::Local::run(chosen.ranks, [&](auto communicator) {
    bool const first = communicator.rank() == 0;
    run_report report = trainer<Engine>(chosen, text, std::move(communicator)).run();
    if (first) {
      result = std::move(report);
    }
  });
  return result;
}

}  // namespace train_gpt
