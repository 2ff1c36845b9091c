// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/plan/plan.hpp>

#include <cstdint>
#include <random>
#include <vector>

namespace zero::test {

/// A model, a program and a configuration, drawn at random: frozen parameters and units, three
/// types, empty and tiny parameters, tied units, units that stay open over others, mixes of stages,
/// any number of ranks.
struct random_case {
  std::vector<parameter> parameters;
  std::int32_t units = 0;
  zero::program program;
  plan_config config;

  [[nodiscard]] execution_plan plan() const {
    return make_plan(parameters, units, program, config);
  }
};

inline void visit(std::vector<program_token>& tokens, phase ph, std::int32_t unit) {
  tokens.push_back({unit, ph, true});
  tokens.push_back({unit, ph, false});
}

[[nodiscard]] inline random_case draw_case(std::mt19937& random) {
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  random_case c;
  c.units = 1 + below(7);
  constexpr std::int64_t sizes[] = {0, 1, 2, 5, 127, 128, 255, 256, 257, 1000, 4099, 20000};
  for (std::int32_t u = 0; u < c.units; ++u) {
    bool const frozen_unit = below(5) == 0;
    int const count = below(5);
    for (int i = 0; i < count; ++i) {
      parameter p;
      p.elements = sizes[below(12)];
      p.type = below(4) == 0 ? dtype::fp32 : dtype::bf16;
      p.traits.frozen = frozen_unit || below(6) == 0;
      p.traits.weight_decay = below(3) != 0;
      p.traits.lr_scale = below(3) == 0 ? 0.5 : 1.0;
      p.traits.resident = below(8) == 0;
      p.unit = u;
      c.parameters.push_back(p);
    }
  }
  bool const held = below(4) == 0 && c.units > 1;  // unit 0 stays open over the others
  auto& forward = c.program.forward;
  if (held) {
    forward.push_back({0, phase::forward, true});
  }
  for (std::int32_t u = held ? 1 : 0; u < c.units; ++u) {
    visit(forward, phase::forward, u);
  }
  if (held) {
    forward.push_back({0, phase::forward, false});
  } else if (below(3) == 0) {
    visit(forward, phase::forward, below(c.units));  // visited again: tied
  }
  for (auto token = forward.rbegin(); token != forward.rend(); ++token) {
    c.program.backward.push_back({token->unit, phase::backward, !token->open});
  }
  constexpr int worlds[] = {1, 2, 3, 4, 5, 7, 8};
  c.config.world = worlds[below(7)];
  c.config.stage = below(4);
  if (below(2) == 0) {  // a mix of stages; -1: as the others
    for (std::int32_t u = 0; u < c.units; ++u) {
      c.config.unit_stages.push_back(static_cast<std::int8_t>(below(5) - 1));
    }
  }
  c.config.native_accumulate = below(4) == 0;
  c.config.native_reduction = below(4) == 0;
  c.config.moments = below(3);
  c.config.schedule.prefetch_units = below(4);
  c.config.schedule.piece_bytes = std::int64_t{1} << (12 + below(10));
  c.config.schedule.residency_bytes = below(2) == 0 ? 0 : 600;
  c.config.schedule.gather_tied = below(2) == 0;
  return c;
}

/// A legal sequence of segments, drawn at random: steps of one to three micro-steps, with
/// evaluation passes before, between and after them.
template <class Run>
void draw_run(std::mt19937& random, int steps, Run run) {
  bool fresh = false;
  auto pass = [&](pass_kind kind) {
    kind.fresh = fresh;
    fresh = false;
    run(kind, false);
  };
  auto evaluate = [&] {
    while (random() % 3 == 0) {
      pass({false, false, false, false});
    }
  };
  for (int s = 0; s < steps; ++s) {
    int const count = 1 + static_cast<int>(random() % 3);
    for (int i = 0; i < count; ++i) {
      evaluate();
      pass({true, i == 0, i + 1 == count, false});
    }
    evaluate();
    run(pass_kind{}, true);
    fresh = true;
  }
  evaluate();
}

}  // namespace zero::test
