// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "step_traffic.hpp"
#include "weights.hpp"

#include <cstdint>

/// What the trainers of host and GPU report alike.
namespace train_gpt {

/// Begins a report with what is known before the first step.
template <class Engine>
[[nodiscard]] run_report begin_report(Engine const& engine, options const& chosen) {
  run_report report;
  report.chosen = chosen;
  report.chosen.stage = Engine::stage;
  report.first_rank = engine.rank() == 0;
  for (auto const& parameter : engine.parameters()) {
    report.parameters += parameter.elements;
  }
  report.validation_losses.reserve(schedule(chosen).validations());
  return report;
}

/// Ends a report with what is known after the last step, and keeps the weights where that was
/// asked for. Collective.
/// @param loss_of  gives this rank's loss of a step
/// @param generate  writes a sample
template <class Engine, class LossOf, class Generate>
void end_report(run_report& report,
                Engine& engine,
                step_traffic<Engine>& traffic,
                progress const& shown,
                LossOf&& loss_of,
                Generate&& generate) {
  options const& chosen = report.chosen;
  report.collectives = traffic.in_steps();
  for (std::int64_t step = 0; step < chosen.steps; ++step) {
    report.losses.push_back(traffic.mean(loss_of(step)));
  }
  report.training_seconds = shown.seconds();
  report.tokens_per_second = shown.tokens_per_second();
  if (!chosen.quiet) {
    report.sample = generate();
  }
  report.parameters_hash = engine.parameters_hash();
  report.replica_hash = engine.replica_hash();  // throws where ranks differ
  for (auto const& pool : engine.pools()) {
    report.pools.push_back({pool.name, pool.tier, pool.planned_bytes, pool.allocated_bytes});
  }
  report.formula_bytes = engine.formula_bytes();
  if (!chosen.save_weights.empty()) {
    save_weights(engine, chosen.save_weights);
  }
}

}  // namespace train_gpt
