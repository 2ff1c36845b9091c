// SPDX-License-Identifier: Apache-2.0
#include "compare.hpp"
#include "report.hpp"

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace train_gpt {

namespace {

void check_pair(run_report const& a, run_report const& b) {
  if (a.parameters_hash != b.parameters_hash) {
    throw std::runtime_error("stages " + std::to_string(a.chosen.stage) + " and " +
                             std::to_string(b.chosen.stage) +
                             " ended with different parameters, and must not.");
  }
}

}  // namespace

void check_equal(std::vector<run_report> const& runs) {
  options const& chosen = runs.front().chosen;
  bool const same_gradients = chosen.device == "host" || chosen.deterministic;
  if (chosen.reduction != "ordered" || !same_gradients) {
    return;
  }
  check_pair(runs[0], runs[1]);
  check_pair(runs[2], runs[3]);
  if (chosen.micro_steps == 1) {
    check_pair(runs[1], runs[2]);
  }
}

}  // namespace train_gpt
