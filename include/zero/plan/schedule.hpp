// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/model/program.hpp>
#include <zero/plan/config.hpp>
#include <zero/plan/layout.hpp>
#include <zero/plan/operation.hpp>
#include <zero/plan/pass_kind.hpp>
#include <zero/plan/pieces.hpp>
#include <zero/plan/segment.hpp>
#include <zero/plan/slot_plan.hpp>
#include <zero/plan/slots.hpp>
#include <zero/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace zero::inline ZERO_ABI {

namespace detail {

/// Emits the operations of one pass; a class only to share what all emitting functions need.
class pass_emitter {
 public:
  constexpr pass_emitter(model_plan_layout const& layout,
                         program const& program,
                         slot_plans const& slots,
                         plan_config const& config,
                         pass_kind pass)
      : layout_(layout),
        config_(config),
        pass_(pass),
        parameters_(slots.parameters),
        gradients_(slots.gradients) {
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
      if (pass_.train && layout_.unit(op.unit).trained) {
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
    auto const& unit = layout_.unit(u);
    if (unit.trained && unit.in.state.sharded() && !unit.in.parameters.sharded()) {
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
      bool const trained = pass_.train && layout_.unit(op.unit).trained;
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
    auto const& unit = layout_.unit(u);
    auto const first = static_cast<std::uint8_t>(pass_.first ? flag_first : 0);
    auto const last = static_cast<std::uint8_t>(pass_.last ? flag_last : 0);
    bool const only = pass_.first && pass_.last;
    bool const alone = config_.world == 1;
    if (alone || (!unit.in.gradients.sharded() && !only)) {
      auto op = make(operation_kind::accumulate, u);
      op.gradient_slot = slot;
      // among several ranks the norm waits for their sum
      op.flags = static_cast<std::uint8_t>(first | (alone ? int{last} : int{flag_whole}));
      result_.operations.push_back(op);
    }
    if (alone || (!unit.in.gradients.sharded() && !pass_.last)) {
      return;
    }
    bool const wide = !unit.in.gradients.sharded() && !only;
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
    if (!unit.in.state.sharded()) {
      result_.operations.push_back(make(operation_kind::gather_sums, u));
    }
  }

  constexpr void exchange(std::int32_t u, std::int32_t r, std::int32_t slot, std::uint8_t flags) {
    auto const& range = layout_.range(r);
    if (range.frozen) {
      return;
    }
    bool const wide = (flags & flag_wide) != 0;
    auto const step = piece_elements(config_, wire_bytes(config_, range.type, wide));
    for (std::int64_t at = 0; at < range.shard(); at += step) {
      auto op = make(operation_kind::exchange, u);
      op.range = r;
      op.gradient_slot = wide ? std::int32_t{-1} : slot;
      op.receive = receive_;
      op.flags = flags;
      op.piece_begin = at;
      op.piece_end = std::min(range.shard(), at + step);
      result_.operations.push_back(op);
      op.kind = operation_kind::sum;
      result_.operations.push_back(op);
      receive_ = static_cast<std::int16_t>(1 - receive_);
    }
  }

  model_plan_layout const& layout_;
  plan_config const& config_;
  pass_kind pass_;
  slot_plan parameters_;  // with the intervals of this pass
  slot_plan const& gradients_;
  segment result_;
  std::int16_t receive_ = 0;
  std::int32_t end_point_ = 0;
};

}  // namespace detail

/// The operations of one kind of pass. Linear in the units (and pieces).
[[nodiscard]] constexpr segment emit_pass(model_plan_layout const& layout,
                                          program const& program,
                                          slot_plans const& slots,
                                          plan_config const& config,
                                          pass_kind pass) {
  return detail::pass_emitter(layout, program, slots, config, pass).emit();
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
      auto const& unit = layout.unit(u);
      if (unit.trained) {
        bool const whole = config.world > 1 && !unit.in.state.sharded();
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
