// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>
#include <zero/core/norm.hpp>
#include <zero/plan/plan.hpp>
#include <zero/version.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// A part of something larger: where it starts and how long it is.
struct extent {
  std::int64_t begin = 0;
  std::int64_t size = 0;
};

/// Holds parts against each other: they begin at 0 and follow one another, each at the first
/// multiple of `granule` behind the one before. So none overlaps another, lies outside or askew.
/// Parts of no size do not count. Sorts them.
/// @param what  that they are parts of, for the message
/// @return where the last one ends
/// @throws logic_error for a part that lies elsewhere
[[nodiscard]] inline std::int64_t end_of_parts(std::vector<extent>& parts,
                                               std::int64_t granule,
                                               std::string const& what) {
  std::erase_if(parts, [](extent const& e) { return e.size == 0; });
  std::ranges::sort(parts, {}, &extent::begin);
  std::int64_t end = 0;
  for (auto const& part : parts) {
    auto const wanted = round_up(end, granule);
    if (part.begin != wanted) {
      throw logic_error("zero: the plan puts a part of " + what + " at " +
                        std::to_string(part.begin) + ", but what lies before it ends at " +
                        std::to_string(end) + "; report this as a defect of zero.");
    }
    end = part.begin + part.size;
  }
  return end;
}

/// The pools of one rank: one allocation each, sized from where the last thing in it ends, and held
/// against the plan. Before that, everything that lies in a pool is held against its neighbours.
/// Answers where everything lies; knows nothing of when.
template <class Device>
class pool_memory {
 public:
  pool_memory(Device& device, execution_plan const& plan, int rank)
      : device_(&device),
        plan_(&plan),
        rank_(rank) {
    measure();
    for (std::size_t i = 0; i < pool_count; ++i) {
      if (bytes_[i] != plan.pools.bytes[i]) {
        throw logic_error("zero: the plan says " + std::to_string(plan.pools.bytes[i]) +
                          " bytes for pool '" + name(static_cast<pool>(i)) +
                          "', but its contents need " + std::to_string(bytes_[i]) +
                          "; report this as a defect of zero.");
      }
    }
    try {
      for (std::size_t i = 0; i < pool_count; ++i) {
        if (bytes_[i] > 0) {
          base_[i] =
              static_cast<std::byte*>(device.allocate(bytes_[i], name(static_cast<pool>(i))));
          allocated_[i] = bytes_[i];
        }
      }
    } catch (out_of_memory const& error) {
      release();
      throw out_of_memory(error.bytes(), error.pool(), demand());
    } catch (...) {
      release();
      throw;
    }
  }

  pool_memory(pool_memory const&) = delete;
  pool_memory& operator=(pool_memory const&) = delete;

  ~pool_memory() { release(); }

  /// Bytes that the allocation call of a pool was given.
  [[nodiscard]] std::int64_t allocated_bytes(pool p) const {
    return allocated_[static_cast<std::size_t>(p)];
  }

  [[nodiscard]] std::byte* base(pool p) const { return base_[static_cast<std::size_t>(p)]; }

  /// The parameters that this rank holds of a range: all of it, or its shard.
  [[nodiscard]] std::byte* held_parameters(unit_range const& r) const {
    return base(pool::parameters) + r.parameter_offset;
  }

  /// This rank's shard of a range's parameters.
  [[nodiscard]] std::byte* shard_parameters(unit_range const& r) const {
    return held_parameters(r) +
           (unit_of(r).parameters_sharded ? 0 : shard_begin(r) * bytes_of(r.type));
  }

  [[nodiscard]] std::byte* held_accumulators(unit_range const& r) const {
    return base(pool::gradients) + r.accumulator_offset;
  }

  [[nodiscard]] std::byte* shard_accumulators(unit_range const& r) const {
    return held_accumulators(r) + (unit_of(r).gradients_sharded
                                       ? 0
                                       : shard_begin(r) * accumulator_bytes(plan_->config, r.type));
  }

  /// First element of a range that this rank updates, and how many: its shard, or the whole range
  /// where the optimizer state is not sharded.
  [[nodiscard]] std::int64_t owned_begin(unit_range const& r) const {
    return unit_of(r).optimizer_sharded ? shard_begin(r) : 0;
  }

  [[nodiscard]] std::int64_t owned_elements(unit_range const& r) const {
    return unit_of(r).optimizer_sharded ? r.shard : r.elements;
  }

  /// The accumulators and parameters of the owned elements.
  [[nodiscard]] std::byte* owned_accumulators(unit_range const& r) const {
    return unit_of(r).optimizer_sharded ? shard_accumulators(r) : held_accumulators(r);
  }

  [[nodiscard]] std::byte* owned_parameters(unit_range const& r) const {
    return unit_of(r).optimizer_sharded ? shard_parameters(r) : held_parameters(r);
  }

  /// FP32 master weights of the owned elements: state, or the FP32 parameter itself.
  [[nodiscard]] float* masters(unit_range const& r) const {
    return r.type == dtype::fp32 ? reinterpret_cast<float*>(owned_parameters(r))
                                 : reinterpret_cast<float*>(base(pool::optimizer) + r.state_offset);
  }

  /// State array `index` of the owned elements.
  [[nodiscard]] float* moments(unit_range const& r, int index) const {
    auto const skip = (r.type == dtype::fp32 ? 0 : 1) + index;
    return reinterpret_cast<float*>(base(pool::optimizer) + r.state_offset) +
           skip * owned_elements(r);
  }

  [[nodiscard]] std::byte* parameter_slot(int slot) const {
    return base(pool::parameter_slots) +
           plan_->pools.parameter_slot_offsets[static_cast<std::size_t>(slot)];
  }

  [[nodiscard]] std::byte* gradient_slot(int slot) const {
    return base(pool::gradient_slots) +
           plan_->pools.gradient_slot_offsets[static_cast<std::size_t>(slot)];
  }

  [[nodiscard]] std::byte* receive(int buffer) const {
    return base(pool::receive) + buffer * plan_->pools.receive_bytes;
  }

  [[nodiscard]] unit_layout const& unit_of(unit_range const& r) const {
    return plan_->layout.units[static_cast<std::size_t>(r.unit)];
  }

  [[nodiscard]] std::int64_t shard_begin(unit_range const& r) const { return rank_ * r.shard; }

 private:
  /// Bytes of each pool from where its contents lie, apart from the plan's own sums.
  void measure() {
    measure_ranges();
    measure_slots();
    bytes_[static_cast<std::size_t>(pool::control)] = control_layout_of(*plan_).bytes;
    check_units();
    check_places();
  }

  void set_bytes(pool p, std::vector<extent>& parts) {
    bytes_[static_cast<std::size_t>(p)] =
        end_of_parts(parts, parameter_alignment_bytes, std::string("pool '") + name(p) + "'");
  }

  void measure_ranges() {
    std::vector<extent> parameters;
    std::vector<extent> gradients;
    std::vector<extent> states;
    std::vector<extent> blocks;
    for (auto const& r : plan_->layout.ranges) {
      auto const& unit = unit_of(r);
      auto const held = [&](bool sharded) { return sharded ? r.shard : r.elements; };
      parameters.push_back({r.parameter_offset, held(unit.parameters_sharded) * bytes_of(r.type)});
      if (!r.frozen) {
        gradients.push_back(
            {r.accumulator_offset,
             held(unit.gradients_sharded) * accumulator_bytes(plan_->config, r.type)});
        states.push_back({r.state_offset, owned_elements(r) * state_bytes(plan_->config, r.type)});
        blocks.push_back({r.first_block, norm_blocks(r.shard)});
      }
    }
    set_bytes(pool::parameters, parameters);
    set_bytes(pool::gradients, gradients);
    set_bytes(pool::optimizer, states);
    agree(end_of_parts(blocks, 1, "the norm's blocks"),
          plan_->layout.norm_blocks,
          "the norm's blocks");
  }

  /// A slot is as large as the largest unit that any operation of any pass puts into it.
  void measure_slots() {
    auto const& pools = plan_->pools;
    auto parameters = at_offsets(pools.parameter_slot_offsets);
    auto gradients = at_offsets(pools.gradient_slot_offsets);
    std::int64_t piece = 0;
    for (auto const& pass : plan_->passes) {
      for (auto const& op : pass.operations) {
        if (op.unit < 0) {
          continue;
        }
        auto const& unit = plan_->layout.units[static_cast<std::size_t>(op.unit)];
        if (op.parameter_slot >= 0) {
          auto& size = parameters[static_cast<std::size_t>(op.parameter_slot)].size;
          size = std::max(size, unit.parameter_slot_bytes);
        }
        if (op.gradient_slot >= 0) {
          auto& size = gradients[static_cast<std::size_t>(op.gradient_slot)].size;
          size = std::max(size, unit.gradient_slot_bytes);
        }
        if (op.kind == operation_kind::exchange) {
          auto const& r = plan_->layout.ranges[static_cast<std::size_t>(op.range)];
          piece = std::max(piece,
                           (op.piece_end - op.piece_begin) * (plan_->config.world - 1) *
                               wire_bytes(plan_->config, r.type, op.has(flag_wide)));
        }
      }
    }
    std::vector<extent> received{{0, piece}, {pools.receive_bytes, piece}};
    set_bytes(pool::parameter_slots, parameters);
    set_bytes(pool::gradient_slots, gradients);
    set_bytes(pool::receive, received);
  }

  [[nodiscard]] static std::vector<extent> at_offsets(std::vector<std::int64_t> const& offsets) {
    std::vector<extent> parts(offsets.size());
    std::ranges::transform(offsets, parts.begin(), [](auto offset) { return extent{offset, 0}; });
    return parts;
  }

  /// The ranges of a unit fill its slots.
  void check_units() const {
    for (auto const& unit : plan_->layout.units) {
      std::vector<extent> parameters;
      std::vector<extent> gradients;
      for (auto i = unit.first_range; i < unit.first_range + unit.ranges; ++i) {
        auto const& r = plan_->layout.ranges[static_cast<std::size_t>(i)];
        auto const bytes = r.elements * bytes_of(r.type);
        parameters.push_back({r.parameter_slot_offset, bytes});
        gradients.push_back({r.gradient_slot_offset, r.frozen ? 0 : bytes});
      }
      agree(end_of_parts(parameters, parameter_alignment_bytes, "a unit's parameter slot"),
            unit.parameter_slot_bytes,
            "a unit's parameter slot");
      agree(end_of_parts(gradients, parameter_alignment_bytes, "a unit's gradient slot"),
            unit.gradient_slot_bytes,
            "a unit's gradient slot");
    }
  }

  /// The parameters of a range lie one behind the other, inside of it.
  void check_places() const {
    std::vector<std::vector<extent>> parts(plan_->layout.ranges.size());
    for (std::size_t i = 0; i < plan_->layout.places.size(); ++i) {
      auto const& place = plan_->layout.places[i];
      if (place.range >= 0) {
        auto const width = bytes_of(plan_->parameters[i].type);
        parts[static_cast<std::size_t>(place.range)].push_back(
            {place.offset * width, plan_->parameters[i].elements * width});
      }
    }
    for (std::size_t r = 0; r < parts.size(); ++r) {
      auto const& range = plan_->layout.ranges[r];
      auto const room = range.elements * bytes_of(range.type);
      auto const end = end_of_parts(parts[r], parameter_alignment_bytes, "a range");
      agree(std::max(end, room), room, "a range");
    }
  }

  static void agree(std::int64_t end, std::int64_t planned, char const* what) {
    if (end != planned) {
      throw logic_error(std::string("zero: the plan ends ") + what + " at " +
                        std::to_string(planned) + ", but its contents end at " +
                        std::to_string(end) + "; report this as a defect of zero.");
    }
  }

  /// The plan in a sentence, for whoever has too little memory.
  [[nodiscard]] std::string demand() const {
    std::int64_t total = 0;
    std::string parts;
    for (std::size_t i = 0; i < pool_count; ++i) {
      total += bytes_[i];
      parts += std::string(i == 0 ? " " : ", ") + name(static_cast<pool>(i)) + " " +
               std::to_string(bytes_[i]);
    }
    return "rank " + std::to_string(rank_) + " of " + std::to_string(plan_->config.world) +
           " in stage " + std::to_string(plan_->config.stage) + " plans " + std::to_string(total) +
           " bytes:" + parts + "; shard more with a higher stage, or more ranks";
  }

  void release() noexcept {
    for (std::size_t i = 0; i < pool_count; ++i) {
      if (base_[i] != nullptr) {
        device_->deallocate(base_[i], bytes_[i]);
        base_[i] = nullptr;
      }
    }
  }

  Device* device_;
  execution_plan const* plan_;
  int rank_;
  std::array<std::int64_t, pool_count> bytes_{};
  std::array<std::int64_t, pool_count> allocated_{};
  std::array<std::byte*, pool_count> base_{};
};

}  // namespace zero::inline ZERO_ABI::detail
