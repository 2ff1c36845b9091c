// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report.hpp"

#include <vector>

namespace train_gpt {

/// Checks what zero promises of the stages: where ranks' contributions are added in order, stages 0
/// and 1 end with the same parameters, bit for bit, and 2 and 3 too; all four do where a step has
/// one micro-step. On a GPU it holds, and is checked, with `--deterministic` alone.
/// @param runs  stages 0 to 3 of one training
/// @throws std::runtime_error naming two stages that differ
void check_equal(std::vector<run_report> const& runs);

}  // namespace train_gpt
