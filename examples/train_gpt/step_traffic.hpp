// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report.hpp"

#include <zero/core/traffic.hpp>

#include <cstdint>
#include <vector>

namespace train_gpt {

/// Tells what a rank sends in its steps from what its validations and its means over the ranks
/// send, which it measures once and leaves out.
template <class Engine>
class step_traffic {
 public:
  /// The engine must outlive this.
  explicit step_traffic(Engine& engine)
      : engine_(engine) {}

  /// The mean of a number over the ranks. Collective; waits.
  double mean(double value) {
    ++means_;
    return engine_.mean(value);
  }

  /// Nobody goes on before all have come here.
  void meet() { (void)mean(0); }

  /// To be called once in each validation, which ends with one `mean`.
  void count_validation() { ++validations_; }

  /// Validates twice, so that all but a step has been run once, and starts to count steps.
  /// @return the first validation's loss
  template <class Validate>
  double start(Validate&& validate) {
    double const loss = validate();
    zero::traffic const before = engine_.traffic();
    meet();
    zero::traffic const after_mean = engine_.traffic();
    (void)validate();
    in_mean_ = after_mean - before;
    in_validation_ = engine_.traffic() - after_mean - in_mean_;
    meet();
    means_ = 0;
    validations_ = 0;
    before_steps_ = engine_.traffic();
    return loss;
  }

  /// What was sent in steps since `start`, by collective.
  [[nodiscard]] std::vector<collective_figures> in_steps() const {
    zero::traffic const all = engine_.traffic() - before_steps_;
    std::vector<collective_figures> result;
    for (int i = 0; i < zero::collective_count; ++i) {
      auto const operation = static_cast<zero::collective>(i);
      auto const part = [&](auto field) {
        return all[operation].*field - means_ * in_mean_[operation].*field -
               validations_ * in_validation_[operation].*field;
      };
      result.push_back({zero::name(operation),
                        part(&zero::traffic::entry::count),
                        part(&zero::traffic::entry::bytes)});
    }
    return result;
  }

 private:
  Engine& engine_;
  std::int64_t means_ = 0;
  std::int64_t validations_ = 0;
  zero::traffic in_mean_;
  zero::traffic in_validation_;
  zero::traffic before_steps_;
};

}  // namespace train_gpt
