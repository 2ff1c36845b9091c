// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/plan/config.hpp>
#include <zero/version.hpp>

#include <algorithm>
#include <string>

namespace zero::inline ZERO_ABI {

/// "stage 2", or "stage 3, some units in stage 1 and 2".
[[nodiscard]] inline std::string stage_text(plan_config const& config) {
  std::string others;
  for (int stage = 0; stage <= 3; ++stage) {
    bool const used = std::ranges::find(config.unit_stages, stage) != config.unit_stages.end();
    if (stage != config.stage && used) {
      others += (others.empty() ? "" : " and ") + std::to_string(stage);
    }
  }
  return "stage " + std::to_string(config.stage) +
         (others.empty() ? others : ", some units in stage " + others);
}

}  // namespace zero::inline ZERO_ABI
