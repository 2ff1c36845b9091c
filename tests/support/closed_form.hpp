// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/core/traffic.hpp>
#include <zero/model/describe.hpp>
#include <zero/model/parameter.hpp>
#include <zero/model/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

/// @file
/// What the stages cost, by the closed form of their definition: computed from the description of a
/// container and nothing of the plan.

namespace zero::test {

/// The choices that costs depend on.
struct cost_question {
  int ranks = 1;
  int stage = 0;
  std::vector<std::int8_t> unit_stages{};  ///< of the container's units, -1 for `stage`; or none
  std::int64_t micro_steps = 1;
  bool native_accumulate = false;
  bool native_reduction = false;
  int moments = 2;
  std::int64_t piece_bytes = 0;
  std::int64_t residency_bytes = 0;
  bool gather_tied = false;
};

/// Elements that travel together: those of one unit, type and fate.
struct cost_range {
  std::int64_t payload = 0;
  std::int64_t shard = 0;  ///< of one rank, padded
  std::int64_t width = 0;  ///< bytes of a parameter
  int stage = 0;           ///< of its unit
  bool frozen = false;
  bool kept = false;              ///< whole on every rank in stage 3
  std::int64_t train_groups = 0;  ///< visit groups of a training pass
  std::int64_t eval_groups = 0;   ///< of an evaluation pass
};

class closed_form {
 public:
  template <class Model>
  closed_form(Model const& model, cost_question const& question)
      : q_(question) {
    auto const description = describe(model);
    auto const steps = make_program(model);
    count_groups(description.units, steps);
    collect(description);
  }

  [[nodiscard]] std::vector<cost_range> const& ranges() const { return ranges_; }

  /// Collectives and bytes that a rank sends in a step: the publish of the step before included.
  [[nodiscard]] traffic step() const {
    traffic t;
    if (q_.ranks == 1) {
      return t;
    }
    for (cost_range const& r : ranges_) {
      auto const p = r.width;
      auto const g = accumulator(r);
      bool const sharded = r.stage == 3 && !r.kept;
      if (sharded) {
        add(t, collective::all_gather, r.train_groups * q_.micro_steps, r.shard * p);
      }
      if (r.frozen) {
        continue;
      }
      if (r.stage < 2) {
        reduce(t, r, q_.micro_steps > 1 ? g : p, 1);
      } else {
        reduce(t, r, p, q_.micro_steps);
      }
      if (r.stage == 0) {
        add(t, collective::all_gather, 1, r.shard * g);
      } else if (!sharded) {
        add(t, collective::all_gather, 1, r.shard * p);  // publish
      }
    }
    add(t, collective::all_gather, 1, 8);  // the agreement
    return t;
  }

  /// The same for an evaluation pass that is not the first after a step.
  [[nodiscard]] traffic evaluation() const {
    traffic t;
    for (cost_range const& r : ranges_) {
      if (q_.ranks > 1 && r.stage == 3 && !r.kept) {
        add(t, collective::all_gather, r.eval_groups, r.shard * r.width);
      }
    }
    return t;
  }

  /// Bytes of parameters, gradients and optimizer state without padding.
  [[nodiscard]] std::int64_t state_payload_bytes() const {
    return sum([&](cost_range const& r) {
      auto const share = [&](bool sharded) {
        return sharded && q_.ranks > 1 ? (r.payload + q_.ranks - 1) / q_.ranks : r.payload;
      };
      auto bytes = share(r.stage == 3 && !r.kept) * r.width;
      if (!r.frozen) {
        bytes += share(r.stage >= 2) * accumulator(r) + share(r.stage >= 1) * state(r);
      }
      return bytes;
    });
  }

  [[nodiscard]] std::int64_t parameter_bytes() const {
    return sum([&](cost_range const& r) { return held(r, r.stage == 3 && !r.kept) * r.width; });
  }

  [[nodiscard]] std::int64_t gradient_bytes() const {
    return sum(
        [&](cost_range const& r) { return r.frozen ? 0 : held(r, r.stage >= 2) * accumulator(r); });
  }

  [[nodiscard]] std::int64_t optimizer_bytes() const {
    return sum(
        [&](cost_range const& r) { return r.frozen ? 0 : held(r, r.stage >= 1) * state(r); });
  }

  /// The two receive buffers of the ordered reduction.
  [[nodiscard]] std::int64_t receive_bytes() const {
    std::int64_t most = 0;
    for (cost_range const& r : ranges_) {
      if (q_.ranks > 1 && !q_.native_reduction && !r.frozen) {
        // Runs with several micro-steps may follow in stages 0 and 1.
        for (auto const w : {r.width, r.stage < 2 ? accumulator(r) : r.width}) {
          most = std::max(most, (q_.ranks - 1) * w * std::min(r.shard, piece(w)));
        }
      }
    }
    return 2 * most;
  }

 private:
  static constexpr std::int64_t granule = 256;
  static constexpr std::int64_t block = 2048;

  [[nodiscard]] static std::int64_t up(std::int64_t n, std::int64_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
  }

  [[nodiscard]] std::int64_t accumulator(cost_range const& r) const {
    return q_.native_accumulate ? r.width : 4;
  }

  /// Moments, and the master where the parameter is not its own.
  [[nodiscard]] std::int64_t state(cost_range const& r) const {
    return 4 * q_.moments + (r.width == 4 ? 0 : 4);
  }

  /// Elements of a shard in one piece: the other ranks' parts of it fill the bytes.
  [[nodiscard]] std::int64_t piece(std::int64_t wire) const {
    return std::max(block, q_.piece_bytes / ((q_.ranks - 1) * wire) / block * block);
  }

  [[nodiscard]] std::int64_t held(cost_range const& r, bool sharded) const {
    return sharded && q_.ranks > 1 ? r.shard : r.shard * q_.ranks;
  }

  template <class F>
  [[nodiscard]] std::int64_t sum(F f) const {
    std::int64_t total = 0;
    for (cost_range const& r : ranges_) {
      total += f(r);
    }
    return total;
  }

  void add(traffic& t, collective c, std::int64_t count, std::int64_t bytes) const {
    t[c].count += count;
    t[c].bytes += count * bytes * (q_.ranks - 1);
  }

  void reduce(traffic& t, cost_range const& r, std::int64_t wire, std::int64_t times) const {
    if (q_.native_reduction) {
      add(t, collective::reduce_scatter, times, r.shard * wire);
    } else {
      auto& entry = t[collective::all_to_others];
      entry.count += times * ((r.shard + piece(wire) - 1) / piece(wire));
      entry.bytes += times * r.shard * wire * (q_.ranks - 1);
    }
  }

  /// Visits of a unit between which its slot is not given away: a visit that begins where the last
  /// one has ended belongs to its group.
  void count_groups(std::int32_t units, program const& steps) {
    auto const n = static_cast<std::size_t>(units);
    train_groups_.assign(n, 0);
    eval_groups_.assign(n, 0);
    tied_.assign(n, false);
    auto count = [](std::vector<program_token> const& tokens, std::vector<std::int64_t>& groups) {
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        bool const follows = i > 0 && tokens[i - 1].unit == tokens[i].unit && !tokens[i - 1].open;
        if (tokens[i].open && !follows) {
          ++groups[static_cast<std::size_t>(tokens[i].unit)];
        }
      }
    };
    auto tokens = steps.forward;
    count(tokens, eval_groups_);
    tokens.insert(tokens.end(), steps.backward.begin(), steps.backward.end());
    count(tokens, train_groups_);
    for (auto const* phase_tokens : {&steps.forward, &steps.backward}) {
      std::vector<int> opens(n, 0);
      for (auto const& token : *phase_tokens) {
        opens[static_cast<std::size_t>(token.unit)] += token.open ? 1 : 0;
      }
      for (std::size_t u = 0; u < n; ++u) {
        tied_[u] = tied_[u] || opens[u] > 1;
      }
    }
  }

  void collect(model_layout const& description) {
    using key = std::tuple<std::int32_t, dtype, bool>;
    std::map<key, std::vector<parameter>> together;
    for (auto const& p : description.parameters) {
      if (p.elements > 0) {
        bool const resident =
            p.traits.resident || p.elements * bytes_of(p.type) <= q_.residency_bytes;
        together[{resident ? description.units : p.unit, p.type, p.traits.frozen}].push_back(p);
      }
    }
    for (auto const& [where, parameters] : together) {
      auto const [unit, type, frozen] = where;
      cost_range r;
      r.width = bytes_of(type);
      r.frozen = frozen;
      std::int64_t end = 0;
      for (auto const& p : parameters) {
        end = up(end, 256 / r.width) + p.elements;
        r.payload += p.elements;
      }
      r.shard = up((end + q_.ranks - 1) / q_.ranks, granule);
      auto const u = static_cast<std::size_t>(unit);
      bool const own = unit < description.units;
      r.stage =
          own && u < q_.unit_stages.size() && q_.unit_stages[u] >= 0 ? q_.unit_stages[u] : q_.stage;
      r.kept = !own || (tied_[u] && !q_.gather_tied);
      r.train_groups = own ? train_groups_[u] : 0;
      r.eval_groups = own ? eval_groups_[u] : 0;
      ranges_.push_back(r);
    }
  }

  cost_question q_;
  std::vector<cost_range> ranges_;
  std::vector<std::int64_t> train_groups_;
  std::vector<std::int64_t> eval_groups_;
  std::vector<bool> tied_;
};

}  // namespace zero::test
