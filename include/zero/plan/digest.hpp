// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/plan/plan.hpp>
#include <zero/version.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace zero::inline ZERO_ABI {

/// Digest of a plan in named parts, compared between ranks at construction so that a disagreement
/// can name the first part that differs. FNV-1a over the values, 64 bits a part.
struct plan_digest {
  std::array<std::uint64_t, 9> parts{};  ///< see `digest_part_name`

  friend constexpr bool operator==(plan_digest const&, plan_digest const&) = default;
};

/// The parts that the engine adds, since no plan knows of them.
inline constexpr std::size_t digest_part_of_names = 4;
inline constexpr std::size_t digest_part_of_step = 8;  ///< the optimizer, the options of the step

/// What each part of a digest covers, in words for messages.
[[nodiscard]] constexpr char const* digest_part_name(std::size_t part) {
  constexpr std::array<char const*, 9> names{
      "the policies",
      "the number of ranks",
      "the settings of the schedule",
      "the parameters (count, sizes, types or traits)",
      "the names or shapes of the parameters",
      "the program",
      "the sizes of the pools",
      "the schedule",
      "the optimizer or the options of the step (clipping, mean, loss scale)"};
  return names[part];
}

namespace detail {

/// FNV-1a over 64-bit values: Fowler, Noll, Vo.
class fnv1a {
 public:
  constexpr void add(std::int64_t value) {
    auto v = static_cast<std::uint64_t>(value);
    for (int i = 0; i < 8; ++i) {
      hash_ = (hash_ ^ (v & 0xffU)) * 1099511628211U;
      v >>= 8U;
    }
  }

  constexpr void add(std::string_view text) {
    add(static_cast<std::int64_t>(text.size()));
    for (char const c : text) {
      hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 1099511628211U;
    }
  }

  [[nodiscard]] constexpr std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 1469598103934665603U;
};

constexpr void add_segment(fnv1a& h, segment const& s) {
  for (auto const& op : s.operations) {
    h.add(static_cast<std::int64_t>(op.kind));
    h.add(op.flags);
    h.add(op.parameter_slot);
    h.add(op.gradient_slot);
    h.add(op.receive);
    h.add(op.unit);
    h.add(op.range);
    h.add(op.piece_begin);
    h.add(op.piece_end);
  }
  for (auto const at : s.starts) {
    h.add(at);
  }
}

constexpr void add_tokens(fnv1a& h, std::vector<program_token> const& tokens) {
  h.add(static_cast<std::int64_t>(tokens.size()));
  for (auto const& t : tokens) {
    h.add(t.unit);
    h.add(static_cast<std::int64_t>(t.ph));
    h.add(t.open ? 1 : 0);
  }
}

}  // namespace detail

/// Digest of a plan. The parts of the names and of the step are left for the engine. Linear in the
/// operations.
[[nodiscard]] constexpr plan_digest digest_of(execution_plan const& plan) {
  plan_digest d;
  auto const& c = plan.config;
  auto part = [&](std::size_t i, auto fill) {
    detail::fnv1a h;
    fill(h);
    d.parts[i] = h.value();
  };
  part(0, [&](detail::fnv1a& h) {
    h.add(c.stage);
    for (auto const stage : c.unit_stages) {
      h.add(stage);
    }
    h.add(c.native_accumulate ? 1 : 0);
    h.add(c.native_reduction ? 1 : 0);
    h.add(c.averages_on_wire ? 1 : 0);
    h.add(c.moments);
  });
  part(1, [&](detail::fnv1a& h) { h.add(c.world); });
  part(2, [&](detail::fnv1a& h) {
    h.add(c.schedule.prefetch_units);
    h.add(c.schedule.piece_bytes);
    h.add(c.schedule.residency_bytes);
    h.add(c.schedule.gather_tied ? 1 : 0);
  });
  part(3, [&](detail::fnv1a& h) {
    for (auto const& p : plan.parameters) {
      h.add(p.elements);
      h.add(static_cast<std::int64_t>(p.type));
      h.add((p.traits.frozen ? 1 : 0) + (p.traits.weight_decay ? 2 : 0) +
            (p.traits.resident ? 4 : 0));
      h.add(std::bit_cast<std::int64_t>(p.traits.lr_scale));
      h.add(p.unit);
    }
  });
  part(5, [&](detail::fnv1a& h) {
    detail::add_tokens(h, plan.program.forward);
    detail::add_tokens(h, plan.program.backward);
  });
  part(6, [&](detail::fnv1a& h) {
    for (auto const& row : plan.pools.rows) {
      h.add(row.bytes);
    }
  });
  part(7, [&](detail::fnv1a& h) {
    for (auto const& s : plan.passes) {
      detail::add_segment(h, s);
    }
    detail::add_segment(h, plan.step);
  });
  return d;
}

}  // namespace zero::inline ZERO_ABI
