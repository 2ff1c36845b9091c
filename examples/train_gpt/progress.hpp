// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"
#include "report.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace train_gpt {

/// When validation runs and lines are printed: functions of the step's number, because every rank
/// must come to the same answer.
class schedule {
 public:
  explicit schedule(options const& chosen);

  /// Rises over the first twentieth of the steps, or twenty (half of a short run), then falls to a
  /// tenth along a cosine.
  [[nodiscard]] double learning_rate(std::int64_t step) const;

  /// About ten times a run, and at its end.
  [[nodiscard]] bool validates_after(std::int64_t step) const;

  /// How often it does in a whole run.
  [[nodiscard]] std::size_t validations() const;

  /// The first step, every tenth (more often in short runs), and whenever validation ran.
  [[nodiscard]] bool prints_after(std::int64_t step) const;

 private:
  [[nodiscard]] std::int64_t validation_interval() const;

  std::int64_t steps_;
  double peak_;
};

/// Times the steps of a run and prints its lines.
class progress {
 public:
  /// Prints what is about to be trained, and how. Prints anything only if `prints` and not
  /// `--quiet`: one rank does.
  progress(run_report const& run, bool prints);

  /// The time between these two counts as training.
  void begin_step();
  void end_step();

  /// Counts the time since `begin_step` as training, but no step: a wait for steps that were
  /// enqueued.
  void end_wait();

  /// Prints a line about the step that has ended last, with the latest validation loss
  /// that it was given.
  void print(double loss, std::optional<double> validation_loss);

  [[nodiscard]] double seconds() const { return seconds_; }

  [[nodiscard]] double tokens_per_second() const;

 private:
  using clock = std::chrono::steady_clock;

  options const& chosen_;
  bool prints_;
  clock::time_point started_;  ///< when the first step began
  clock::time_point step_started_;
  double seconds_ = 0;
  std::optional<double> validation_loss_;
  std::int64_t step_ = 0;
};

}  // namespace train_gpt
