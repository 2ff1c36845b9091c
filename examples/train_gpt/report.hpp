// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace train_gpt {

/// Bytes of one pool of one rank.
struct pool_figures {
  std::string name;
  std::string tier;
  std::int64_t planned_bytes = 0;
  std::int64_t allocated_bytes = 0;
};

/// Calls of one collective, and the bytes that one rank sent in them.
struct collective_figures {
  std::string operation;
  std::int64_t count = 0;
  std::int64_t bytes = 0;
};

/// What one training run measured, as rank 0 saw it.
struct run_report {
  options chosen;  ///< with `stage` the one that ran
  std::int64_t parameters = 0;
  std::int64_t applied_steps = 0;
  std::int64_t skipped_steps = 0;
  std::vector<double> losses;  ///< a number a step: the mean over ranks and micro-steps
  std::vector<double> validation_losses;
  double training_seconds = 0;  ///< spent in steps, validation not counted
  double tokens_per_second = 0;
  std::uint64_t parameters_hash = 0;  ///< of the FP32 masters
  std::uint64_t replica_hash = 0;     ///< of the parameters as ranks gather them
  std::vector<pool_figures> pools;
  std::int64_t formula_bytes = 0;
  std::vector<collective_figures> collectives;  ///< of the steps, validation not counted
  std::optional<double> allocations_per_step;   ///< outside of the BLAS; none: not counted here
  std::string sample;                           ///< generated text
  std::string matrix_products;                  ///< what computed them, for people
  std::string attention;                        ///< the same

  // GPU only.
  std::optional<std::int64_t>
      peak_device_bytes;  ///< of all ranks on this rank's device, by the driver
  std::optional<double> device_allocations_per_step;  ///< by the driver, on the ranks' threads
  std::optional<double> host_waits_per_step;  ///< calls that wait for the device, in the steps
  bool first_rank = true;                     ///< false: another process has the whole report
};

/// Writes runs as JSON: one object, or a list of them under `--compare`. The file appears whole or
/// not at all. @throws std::runtime_error
void write_json(std::vector<run_report> const& runs, bool as_list, std::string const& path);

/// Prints the sample, the memory by pool and the collectives of one run.
void print_summary(run_report const& run);

/// Prints a column a stage: bytes by pool, time a step, bytes sent, final loss, hash.
void print_comparison(std::vector<run_report> const& runs);

/// 1234567 as "1 234 567": bytes are compared digit by digit.
[[nodiscard]] std::string grouped(std::int64_t number);

}  // namespace train_gpt
