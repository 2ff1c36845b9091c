// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/queue.hpp>
#include <zero/model/program.hpp>
#include <zero/plan/config.hpp>
#include <zero/plan/operation.hpp>
#include <zero/plan/pass_kind.hpp>
#include <zero/plan/placement.hpp>
#include <zero/plan/plan.hpp>
#include <zero/plan/segment.hpp>
#include <zero/plan/stage_text.hpp>
#include <zero/plan/wire.hpp>
#include <zero/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace zero::inline ZERO_ABI {

namespace detail {

[[nodiscard]] inline std::string pad(std::string text, std::size_t width) {
  text.resize(text.size() < width ? width : text.size(), ' ');
  return text;
}

/// "12 345 678".
[[nodiscard]] inline std::string grouped(std::int64_t value) {
  auto digits = std::to_string(value);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ' ');
  }
  return digits;
}

[[nodiscard]] inline std::string unit_text(std::vector<std::string> const& names,
                                           std::int32_t unit) {
  return unit >= 0 && static_cast<std::size_t>(unit) < names.size()
             ? names[static_cast<std::size_t>(unit)]
             : "unit " + std::to_string(unit);
}

[[nodiscard]] inline char const* name_of(queue q) {
  return q == queue::compute ? "compute" : q == queue::comm ? "comm" : "reduce";
}

[[nodiscard]] inline std::string flags_text(operation const& op) {
  std::string text;
  auto add = [&](std::uint8_t flag, char const* word) {
    if (op.has(flag)) {
      text += std::string(" ") + word;
    }
  };
  add(flag_first, "first");
  add(flag_last, "last");
  add(flag_opens, "opens-gradient");
  add(flag_closes, "closes-gradient");
  add(flag_frees, "frees-slot");
  add(flag_wide, "wide");
  add(flag_whole, "all-shards");
  return text;
}

}  // namespace detail

/// One operation in words: kind, unit, buffers, flags, piece.
/// @param names names of the units, or empty for numbers
[[nodiscard]] inline std::string to_string(operation const& op,
                                           int world,
                                           std::vector<std::string> const& names = {}) {
  auto line =
      detail::pad(detail::name_of(queue_of(op.kind, world)), 8) + detail::pad(name(op.kind), 15);
  if (op.unit >= 0) {
    line += detail::unit_text(names, op.unit);
  }
  if (op.parameter_slot >= 0) {
    line += ", parameter slot " + std::to_string(op.parameter_slot);
  }
  if (op.gradient_slot >= 0) {
    line += ", gradient slot " + std::to_string(op.gradient_slot);
  }
  if (op.receive >= 0) {
    line += ", receive " + std::to_string(op.receive) + ", elements " +
            std::to_string(op.piece_begin) + " to " + std::to_string(op.piece_end);
  }
  auto const flags = detail::flags_text(op);
  return flags.empty() ? line : line + " |" + flags;
}

/// One segment in words: each point of the program with the operations attached to it.
[[nodiscard]] inline std::string to_string(segment const& s,
                                           int world,
                                           std::vector<std::string> const& names = {}) {
  std::string text;
  for (std::size_t p = 0; p + 1 < s.starts.size(); ++p) {
    std::string point = p == 0 ? "begin" : "end";
    if (p > 0 && p <= s.tokens.size()) {
      auto const& t = s.tokens[p - 1];
      point = std::string(t.open ? "open " : "close ") +
              (t.ph == phase::forward ? "forward " : "backward ") +
              detail::unit_text(names, t.unit);
    }
    text += "  " + point + "\n";
    for (auto i = s.starts[p]; i < s.starts[p + 1]; ++i) {
      text += "    " + to_string(s.operations[static_cast<std::size_t>(i)], world, names) + "\n";
    }
  }
  return text;
}

/// A plan for people: pools, units, and the schedule of one step with one micro-step. Lines are
/// stable, so that two plans can be compared with diff.
[[nodiscard]] inline std::string to_string(execution_plan const& plan,
                                           std::vector<std::string> const& names = {}) {
  std::string text = stage_text(plan.config) + ", " + std::to_string(plan.config.world) +
                     " ranks, " + std::to_string(plan.layout.units.size()) +
                     " units\n\npools, bytes a rank" + std::string(13, ' ') + "planned" +
                     std::string(13, ' ') + "formula\n";
  auto number = [](std::int64_t value) {
    auto const digits = detail::grouped(value);
    return std::string(digits.size() < 20 ? 20 - digits.size() : 1, ' ') + digits;
  };
  for (auto const& row : plan.pools.rows) {
    if (row.in == tier::device || row.bytes > 0) {
      auto const where = row.in == tier::device ? std::string() : std::string(", ") + name(row.in);
      text += "  " + detail::pad(name(row.purpose) + where, 17) + number(row.bytes) +
              number(row.formula) + "\n";
    }
  }
  text += "  " + detail::pad("all", 17) + number(plan.device_bytes()) +
          number(plan.formula_bytes()) + "\n\nunits\n";
  for (std::size_t u = 0; u < plan.layout.units.size(); ++u) {
    auto const& unit = plan.layout.units[u];
    if (unit.ranges == 0) {  // no stage means anything for it
      text += "  " + detail::pad(detail::unit_text(names, static_cast<std::int32_t>(u)), 24) +
              "nothing of its own" +
              (plan.layout.resident_unit < 0
                   ? std::string()
                   : ", see " + detail::unit_text(names, plan.layout.resident_unit)) +
              "\n";
      continue;
    }
    text +=
        "  " + detail::pad(detail::unit_text(names, static_cast<std::int32_t>(u)), 24) +
        (unit.in.parameters.sharded()  ? "parameters, gradients, state sharded"
         : unit.in.gradients.sharded() ? "gradients, state sharded"
         : unit.in.state.sharded()     ? "state sharded"
                                       : "whole") +
        (plan.config.unit_stages.empty()
             ? std::string()
             : ", stage " + std::to_string(plan.config.stage_of(static_cast<std::int32_t>(u)))) +
        (unit.resident ? ", resident" : "") + (unit.trained ? "" : ", frozen") + "\n";
    for (auto const& range : plan.layout.ranges_of(unit)) {
      text += "    " + std::string(name(range.type)) + (range.frozen ? " frozen" : "") + ", " +
              detail::grouped(range.payload) + " elements, shard " +
              detail::grouped(range.shard()) + "\n";
    }
  }
  if (!plan.passes.empty()) {
    auto const& pass = plan.passes[static_cast<std::size_t>(index_of({true, true, true, true}))];
    auto const sent = [&](segment const& s) {
      auto const total = wire_of(plan, s).total();
      return std::to_string(total.count) + " collectives, " + detail::grouped(total.bytes) +
             " bytes sent";
    };
    text += "\na training pass that is first and last of its step: " + sent(pass) + "\n" +
            to_string(pass, plan.config.world, names) + "\nthe step: " + sent(plan.step) + "\n" +
            to_string(plan.step, plan.config.world, names);
  }
  return text;
}

}  // namespace zero::inline ZERO_ABI
