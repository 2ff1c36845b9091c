// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/model/program.hpp>
#include <zero/plan/config.hpp>
#include <zero/plan/layout.hpp>
#include <zero/plan/operation.hpp>
#include <zero/plan/slots.hpp>
#include <zero/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace zero::inline ZERO_ABI {

/// The kind of one pass. Training passes differ by their place in the step, and any pass by whether
/// it is the first since the parameters were updated.
struct pass_kind {
  bool train = true;  ///< forward and backward; else forward alone
  bool first = true;  ///< first micro-step: accumulators are overwritten
  bool last = true;   ///< last micro-step: the reduction is completed
  bool fresh = true;  ///< first pass after a step: updated parameters are published

  friend constexpr bool operator==(pass_kind const&, pass_kind const&) = default;
};

/// Number of kinds of pass.
inline constexpr int pass_kinds = 10;

/// Index of a kind of pass, 0 to 9: eight training passes, two evaluation passes.
[[nodiscard]] constexpr int index_of(pass_kind pass) {
  return pass.train ? (pass.first ? 4 : 0) + (pass.last ? 2 : 0) + (pass.fresh ? 1 : 0)
                    : 8 + (pass.fresh ? 1 : 0);
}

/// The kind of pass with index `index`.
[[nodiscard]] constexpr pass_kind pass_at(int index) {
  return index < 8 ? pass_kind{true, (index & 4) != 0, (index & 2) != 0, (index & 1) != 0}
                   : pass_kind{false, false, false, (index & 1) != 0};
}

/// What a kind of pass is called in messages.
[[nodiscard]] constexpr char const* name(pass_kind pass) {
  if (!pass.train) {
    return "an evaluation pass";
  }
  if (pass.first) {
    return pass.last ? "the only micro-step" : "the first of several micro-steps";
  }
  return pass.last ? "the last of several micro-steps"
                   : "neither the first nor the last micro-step";
}

/// The operations of one kind of pass, or of the step, attached to the points at which user code
/// reaches the engine: point 0 is the begin, point 1 + i is token i, the last point is the end.
struct segment {
  std::vector<program_token> tokens;  ///< the opens and closes of user code, in order
  std::vector<operation> operations;  ///< in the order of issue
  std::vector<std::int32_t> starts;   ///< operations of point p: [starts[p], starts[p + 1])
};

/// Slots of one kind of pass: the intervals with the slots assigned to them, and for each token the
/// interval that it belongs to, or -1.
struct slot_plan {
  std::vector<slot_interval> intervals;         ///< in the order of opening
  std::vector<std::int32_t> interval_of_token;  ///< index, or -1
  std::vector<std::int64_t> slot_bytes;         ///< of each slot
};

/// The tokens of a pass: forward, and for training passes backward after it.
[[nodiscard]] constexpr std::vector<program_token> tokens_of(program const& program, bool train) {
  std::vector<program_token> tokens;
  tokens.reserve(program.forward.size() + (train ? program.backward.size() : 0));
  tokens.insert(tokens.end(), program.forward.begin(), program.forward.end());
  if (train) {
    tokens.insert(tokens.end(), program.backward.begin(), program.backward.end());
  }
  return tokens;
}

/// Slots for gathered parameters: one interval a visit group of each sharded unit. A group is the
/// visits between which the slot is not given away: overlapping leases, and a close followed at
/// once by an open of the same unit (the turn from forward to backward). Planned over the training
/// pass; an evaluation pass uses the slots of its forward phase.
[[nodiscard]] constexpr slot_plan plan_parameter_slots(model_plan_layout const& layout,
                                                       std::vector<program_token> const& tokens,
                                                       plan_config const& config) {
  slot_plan plan;
  auto const count = static_cast<std::int32_t>(tokens.size());
  plan.interval_of_token = std::vector<std::int32_t>(tokens.size(), std::int32_t{-1});
  if (config.stage != 3 || config.world == 1) {
    return plan;
  }
  std::vector<std::int32_t> current(layout.units.size(), std::int32_t{-1});
  plan.intervals.reserve(tokens.size() / 2);
  auto const* const token = tokens.data();
  auto const* const units = layout.units.data();
  auto* const of_token = plan.interval_of_token.data();
  auto* const at = current.data();
  for (std::int32_t i = 0; i < count; ++i) {
    auto const u = token[i].unit;
    if (!units[u].parameters_sharded || units[u].parameter_slot_bytes == 0) {
      continue;
    }
    if (token[i].open && (at[u] < 0 || plan.intervals.data()[at[u]].close != i)) {
      at[u] = static_cast<std::int32_t>(plan.intervals.size());
      plan.intervals.push_back({u, i + 1, i + 1, units[u].parameter_slot_bytes});
    }
    plan.intervals.data()[at[u]].close = i + 1;
    of_token[i] = at[u];
  }
  plan.slot_bytes = assign_slots(plan.intervals, config.prefetch_units);
  return plan;
}

/// Slots for gradients: one interval for each trained unit, from its first backward open to its
/// last backward close, and one slot more than are open at once, so that a reduction hides behind
/// the next unit's backward. The resident unit's slot is held for the whole pass; its interval is
/// the first.
[[nodiscard]] constexpr slot_plan plan_gradient_slots(model_plan_layout const& layout,
                                                      std::vector<program_token> const& tokens) {
  slot_plan plan;
  auto const count = static_cast<std::int32_t>(tokens.size());
  plan.interval_of_token = std::vector<std::int32_t>(tokens.size(), std::int32_t{-1});
  std::vector<std::int32_t> current(layout.units.size(), std::int32_t{-1});
  plan.intervals.reserve(tokens.size() / 4 + 1);
  auto const* const token = tokens.data();
  auto const* const units = layout.units.data();
  auto* const of_token = plan.interval_of_token.data();
  auto* const at = current.data();
  if (layout.resident_unit >= 0 && units[layout.resident_unit].trained) {
    plan.intervals.push_back(
        {layout.resident_unit, 0, count + 1, units[layout.resident_unit].gradient_slot_bytes});
  }
  for (std::int32_t i = 0; i < count; ++i) {
    auto const u = token[i].unit;
    if (token[i].ph != phase::backward || !units[u].trained) {
      continue;
    }
    if (at[u] < 0) {
      at[u] = static_cast<std::int32_t>(plan.intervals.size());
      plan.intervals.push_back({u, i + 1, i + 1, units[u].gradient_slot_bytes});
    }
    plan.intervals.data()[at[u]].close = i + 1;
    of_token[i] = at[u];
  }
  plan.slot_bytes = assign_slots(plan.intervals, 1);
  return plan;
}

/// Most elements of a shard that one piece of an ordered reduction covers: `piece_bytes` of what
/// the other ranks send, in whole norm blocks, and at least one block.
[[nodiscard]] constexpr std::int64_t piece_elements(plan_config const& config,
                                                    std::int64_t wire_bytes) {
  auto const others = std::max(std::int64_t{config.world} - 1, std::int64_t{1});
  auto const fits = config.piece_bytes / (others * wire_bytes);
  return std::max(norm_block, fits / norm_block * norm_block);
}

/// Bytes on the wire of one gradient element in an exchange.
[[nodiscard]] constexpr std::int64_t wire_bytes(plan_config const& config, dtype type, bool wide) {
  return wide ? accumulator_bytes(config, type) : bytes_of(type);
}

namespace detail {

/// Emits the operations of one pass; a class only to share what all emitting functions need.
class pass_emitter {
 public:
  constexpr pass_emitter(model_plan_layout const& layout,
                         program const& program,
                         plan_config const& config,
                         pass_kind pass)
      : layout_(layout),
        config_(config),
        pass_(pass) {
    auto const training = tokens_of(program, true);
    parameters_ = plan_parameter_slots(layout, training, config);
    gradients_ = plan_gradient_slots(layout, training);
    result_.tokens = tokens_of(program, pass.train);
    end_point_ = static_cast<std::int32_t>(result_.tokens.size()) + 1;
    for (auto& interval :
         parameters_.intervals) {  // an evaluation pass ends after the forward phase
      if (interval.open < end_point_ && interval.close >= end_point_) {
        interval.close = last_close(interval.unit);
      }
      if (interval.next >= 0 &&
          parameters_.intervals[static_cast<std::size_t>(interval.next)].open >= end_point_) {
        interval.next = -1;
      }
      interval.head = interval.head && interval.open < end_point_;
    }
  }

  [[nodiscard]] constexpr segment emit() {
    begin();
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(result_.tokens.size()); ++i) {
      start_point();
      visit(i);
    }
    end();
    return result_;
  }

 private:
  /// The point of the pass that closes a unit for the last time.
  [[nodiscard]] constexpr std::int32_t last_close(std::int32_t u) const {
    std::int32_t point = 0;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(result_.tokens.size()); ++i) {
      point = result_.tokens[static_cast<std::size_t>(i)].unit == u ? i + 1 : point;
    }
    return point;
  }

  [[nodiscard]] constexpr unit_layout const& unit(std::int32_t u) const {
    return layout_.units[static_cast<std::size_t>(u)];
  }

  constexpr void start_point() {
    result_.starts.push_back(static_cast<std::int32_t>(result_.operations.size()));
  }

  [[nodiscard]] constexpr operation make(operation_kind kind, std::int32_t unit) const {
    operation op;
    op.kind = kind;
    op.unit = unit;
    return op;
  }

  constexpr void begin() {
    start_point();
    if (pass_.fresh) {
      std::vector<char> seen(layout_.units.size(), char{0});
      publish(layout_.resident_unit, seen);
      for (auto const& token : result_.tokens) {
        publish(token.unit, seen);
      }
    }
    for (auto const& interval : parameters_.intervals) {
      if (interval.head) {
        gather(interval);
      }
    }
    if (layout_.resident_unit >= 0) {
      auto op = make(operation_kind::acquire, layout_.resident_unit);
      if (pass_.train && unit(op.unit).trained) {
        op.gradient_slot = gradients_.intervals[0].slot;
        op.flags |= flag_opens;
      }
      result_.operations.push_back(op);
    }
  }

  constexpr void publish(std::int32_t u, std::vector<char>& seen) {
    if (u < 0 || seen[static_cast<std::size_t>(u)] != 0) {
      return;
    }
    seen[static_cast<std::size_t>(u)] = 1;
    if (unit(u).trained && unit(u).optimizer_sharded && !unit(u).parameters_sharded) {
      result_.operations.push_back(make(operation_kind::publish, u));
    }
  }

  constexpr void gather(slot_interval const& interval) {
    auto op = make(operation_kind::gather, interval.unit);
    op.parameter_slot = interval.slot;
    result_.operations.push_back(op);
  }

  constexpr void visit(std::int32_t i) {
    auto const& token = result_.tokens[static_cast<std::size_t>(i)];
    auto const p = parameters_.interval_of_token[static_cast<std::size_t>(i)];
    auto const g =
        pass_.train ? gradients_.interval_of_token[static_cast<std::size_t>(i)] : std::int32_t{-1};
    auto const point = i + 1;
    auto op = make(token.open ? operation_kind::acquire : operation_kind::release, token.unit);
    slot_interval const* parameter_interval = nullptr;
    slot_interval const* gradient_interval = nullptr;
    if (p >= 0) {
      parameter_interval = &parameters_.intervals[static_cast<std::size_t>(p)];
      op.parameter_slot = parameter_interval->slot;
      op.flags |= parameter_interval->close == point ? flag_frees : 0;
    }
    if (g >= 0) {
      gradient_interval = &gradients_.intervals[static_cast<std::size_t>(g)];
      op.gradient_slot = gradient_interval->slot;
      op.flags |= gradient_interval->open == point ? flag_opens : 0;
      op.flags |= gradient_interval->close == point ? flag_closes : 0;
    }
    result_.operations.push_back(op);
    if (parameter_interval != nullptr && parameter_interval->close == point &&
        parameter_interval->next >= 0) {
      gather(parameters_.intervals[static_cast<std::size_t>(parameter_interval->next)]);
    }
    if (gradient_interval != nullptr && gradient_interval->close == point) {
      reduce(token.unit, op.gradient_slot);
    }
  }

  constexpr void end() {
    start_point();
    if (layout_.resident_unit >= 0) {
      auto op = make(operation_kind::release, layout_.resident_unit);
      bool const trained = pass_.train && unit(op.unit).trained;
      if (trained) {
        op.gradient_slot = gradients_.intervals[0].slot;
        op.flags |= flag_closes;
      }
      result_.operations.push_back(op);
      if (trained) {
        reduce(op.unit, op.gradient_slot);
      }
    }
    start_point();
  }

  /// The whole of a stage: what happens to a unit's gradient after its last backward close.
  constexpr void reduce(std::int32_t u, std::int32_t slot) {
    auto const& unit = this->unit(u);
    auto const first = static_cast<std::uint8_t>(pass_.first ? flag_first : 0);
    auto const last = static_cast<std::uint8_t>(pass_.last ? flag_last : 0);
    bool const only = pass_.first && pass_.last;
    bool const alone = config_.world == 1;
    if (alone || (!unit.gradients_sharded && !only)) {
      auto op = make(operation_kind::accumulate, u);
      op.gradient_slot = slot;
      // among several ranks the norm waits for their sum
      op.flags = static_cast<std::uint8_t>(first | (alone ? int{last} : int{flag_whole}));
      result_.operations.push_back(op);
    }
    if (alone || (!unit.gradients_sharded && !pass_.last)) {
      return;
    }
    bool const wide = !unit.gradients_sharded && !only;
    auto const base = static_cast<std::uint8_t>((wide ? flag_wide | flag_first : first) | last);
    if (config_.native_reduction) {
      auto op = make(operation_kind::reduce_scatter, u);
      op.gradient_slot = wide ? std::int32_t{-1} : slot;
      op.flags = base;
      result_.operations.push_back(op);
      op.kind = operation_kind::sum;
      result_.operations.push_back(op);
    } else {
      for (auto r = unit.first_range; r < unit.first_range + unit.ranges; ++r) {
        exchange(u, r, slot, base);
      }
    }
    if (!unit.optimizer_sharded) {
      result_.operations.push_back(make(operation_kind::gather_sums, u));
    }
  }

  constexpr void exchange(std::int32_t u, std::int32_t r, std::int32_t slot, std::uint8_t flags) {
    auto const& range = layout_.ranges[static_cast<std::size_t>(r)];
    if (range.frozen) {
      return;
    }
    bool const wide = (flags & flag_wide) != 0;
    auto const step = piece_elements(config_, wire_bytes(config_, range.type, wide));
    for (std::int64_t at = 0; at < range.shard; at += step) {
      auto op = make(operation_kind::exchange, u);
      op.range = r;
      op.gradient_slot = wide ? std::int32_t{-1} : slot;
      op.receive = receive_;
      op.flags = flags;
      op.piece_begin = at;
      op.piece_end = std::min(range.shard, at + step);
      result_.operations.push_back(op);
      op.kind = operation_kind::sum;
      result_.operations.push_back(op);
      receive_ = static_cast<std::int16_t>(1 - receive_);
    }
  }

  model_plan_layout const& layout_;
  plan_config const& config_;
  pass_kind pass_;
  segment result_;
  slot_plan parameters_;
  slot_plan gradients_;
  std::int16_t receive_ = 0;
  std::int32_t end_point_ = 0;
};

}  // namespace detail

/// The operations of one kind of pass. Linear in the units (and pieces).
[[nodiscard]] constexpr segment emit_pass(model_plan_layout const& layout,
                                          program const& program,
                                          plan_config const& config,
                                          pass_kind pass) {
  return detail::pass_emitter(layout, program, config, pass).emit();
}

/// The operations of the step: norm, agreement, and the update of each trained unit in the order in
/// which the next forward pass will want them. One point.
[[nodiscard]] constexpr segment emit_step(model_plan_layout const& layout,
                                          program const& program,
                                          plan_config const& config) {
  segment result;
  result.starts.push_back(0);
  std::vector<char> seen(layout.units.size(), char{0});
  auto add = [&](operation_kind kind, std::int32_t unit, std::uint8_t flags) {
    operation op;
    op.kind = kind;
    op.flags = flags;
    op.unit = unit;
    result.operations.push_back(op);
  };
  auto update = [&](std::int32_t u) {
    if (u >= 0 && seen[static_cast<std::size_t>(u)] == 0) {
      seen[static_cast<std::size_t>(u)] = 1;
      auto const& unit = layout.units[static_cast<std::size_t>(u)];
      if (unit.trained) {
        bool const whole = config.world > 1 && !unit.optimizer_sharded;
        add(operation_kind::update, u, static_cast<std::uint8_t>(whole ? flag_whole : 0));
      }
    }
  };
  add(operation_kind::norm, -1, 0);
  add(operation_kind::agree, -1, 0);
  update(layout.resident_unit);
  for (auto const& token : program.forward) {
    update(token.unit);
  }
  result.starts.push_back(static_cast<std::int32_t>(result.operations.size()));
  return result;
}

}  // namespace zero::inline ZERO_ABI
