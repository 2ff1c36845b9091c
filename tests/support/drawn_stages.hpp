// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/policy/per_unit.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace zero::test {

/// A program's own way to choose stages unit by unit: what `PerUnit` says by types, this says by
/// numbers, so that laws can draw mixes without an engine's type for each. No mix, unless a
/// `drawn_mix` lives.
struct DrawnStages {
  using policy_category = per_unit_category;

  /// The stages in force, of all engines that are made meanwhile.
  static std::vector<std::int8_t>& current() {
    static std::vector<std::int8_t> stages;
    return stages;
  }

  template <class Model>
  [[nodiscard]] static std::vector<std::int8_t> unit_stages(Model const& /*model*/) {
    return current();
  }
};

static_assert(policy_of<DrawnStages, per_unit_category>);

/// Puts stages in force for as long as it lives. Made and destroyed while no rank runs.
class drawn_mix {
 public:
  explicit drawn_mix(std::vector<std::int8_t> stages) {
    DrawnStages::current() = std::move(stages);
  }

  ~drawn_mix() { DrawnStages::current().clear(); }

  drawn_mix(drawn_mix const&) = delete;
  drawn_mix& operator=(drawn_mix const&) = delete;
};

/// A stage from `low` to `high` for each of `units` units, or -1, the engine's; both ends are among
/// them where there are two units.
[[nodiscard]] inline std::vector<std::int8_t> draw_stages(std::mt19937& random,
                                                          std::int32_t units,
                                                          int low,
                                                          int high) {
  auto const below = [&](std::int32_t n) {
    return static_cast<std::int32_t>(random() % static_cast<unsigned>(n));
  };
  std::vector<std::int8_t> stages;
  for (std::int32_t u = 0; u < units; ++u) {
    auto const choice = below(high - low + 2);
    stages.push_back(static_cast<std::int8_t>(choice == 0 ? -1 : low + choice - 1));
  }
  auto const first = below(units);
  stages[static_cast<std::size_t>(first)] = static_cast<std::int8_t>(low);
  stages[static_cast<std::size_t>((first + 1) % units)] = static_cast<std::int8_t>(high);
  return stages;
}

}  // namespace zero::test
