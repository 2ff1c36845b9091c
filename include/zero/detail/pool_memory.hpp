// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/core/error.hpp>
#include <zero/core/norm.hpp>
#include <zero/core/traffic.hpp>
#include <zero/plan/config.hpp>
#include <zero/plan/layout.hpp>
#include <zero/plan/placement.hpp>
#include <zero/plan/places.hpp>
#include <zero/plan/plan.hpp>
#include <zero/plan/pools.hpp>
#include <zero/plan/stage_text.hpp>
#include <zero/plan/transfers.hpp>
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

/// What allocates the memory of a tier: the device its own.
template <class Device>
class tier_allocators {
 public:
  explicit tier_allocators(Device& device)
      : device_(&device) {}

  [[nodiscard]] void* allocate(tier in, std::int64_t bytes, char const* name) {
    precondition(in == tier::device, "zero: only the tier of the device has an allocator");
    return device_->allocate(bytes, name);
  }

  void deallocate(tier /*in*/, void* address, std::int64_t bytes) noexcept {
    device_->deallocate(address, bytes);
  }

 private:
  Device* device_;
};

/// The pools of one rank: one allocation each, sized from where the last thing in it ends, and held
/// against the plan. Before that, everything that lies in a pool is held against its neighbours.
/// Knows the address of each place of the plan; knows nothing of when.
template <class Device>
class pool_memory {
 public:
  pool_memory(Device& device, execution_plan const& plan, int rank)
      : allocators_(device),
        plan_(&plan),
        places_(plan, rank) {
    measure();
    for (std::size_t i = 0; i < pool_rows; ++i) {
      auto const& row = plan.pools.rows[i];
      if (bytes_[i] != row.bytes) {
        throw logic_error("zero: the plan says " + std::to_string(row.bytes) + " bytes for pool '" +
                          name(row.purpose) + "', but its contents need " +
                          std::to_string(bytes_[i]) + "; report this as a defect of zero.");
      }
    }
    try {
      for (std::size_t i = 0; i < pool_rows; ++i) {
        if (bytes_[i] > 0) {
          auto const& row = plan.pools.rows[i];
          base_[i] =
              static_cast<std::byte*>(allocators_.allocate(row.in, bytes_[i], name(row.purpose)));
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
  [[nodiscard]] std::int64_t allocated_bytes(pool p, tier in = tier::device) const {
    return allocated_[row_of(p, in)];
  }

  [[nodiscard]] std::byte* base(pool p, tier in = tier::device) const {
    return base_[row_of(p, in)];
  }

  /// Where this rank has what the plan speaks of.
  [[nodiscard]] rank_places const& places() const { return places_; }

  /// The first byte of a place.
  [[nodiscard]] std::byte* at(place const& p) const { return base(p.purpose, p.in) + p.offset; }

  /// The same as elements.
  template <class T>
  [[nodiscard]] T* at(place const& p) const {
    return reinterpret_cast<T*>(at(p));
  }

  [[nodiscard]] std::byte* parameter_slot(int slot) const {
    return at(places_.parameter_slot(slot));
  }

  [[nodiscard]] std::byte* gradient_slot(int slot) const { return at(places_.gradient_slot(slot)); }

 private:
  /// Bytes of each pool from where its contents lie, apart from the plan's own sums.
  void measure() {
    measure_ranges();
    measure_slots();
    bytes_[row_of(pool::control, tier::device)] = control_layout_of(*plan_).bytes;
    check_units();
    check_places();
  }

  void set_bytes(pool p, tier in, std::vector<extent>& parts) {
    bytes_[row_of(p, in)] =
        end_of_parts(parts, parameter_alignment_bytes, std::string("pool '") + name(p) + "'");
  }

  void measure_ranges() {
    std::array<std::vector<extent>, pool_rows> parts;
    std::vector<extent> blocks;
    auto const add = [&](pool p, placement const& where, std::int64_t offset, std::int64_t bytes) {
      parts[row_of(p, where.in)].push_back({offset, bytes});
    };
    for (auto const& r : plan_->layout.ranges) {
      auto const& in = plan_->layout.unit_of(r).in;
      add(pool::parameters,
          in.parameters,
          r.parameter_offset,
          r.shard(in.parameters.over) * bytes_of(r.type));
      if (!r.frozen) {
        add(pool::gradients,
            in.gradients,
            r.accumulator_offset,
            r.shard(in.gradients.over) * accumulator_bytes(plan_->config, r.type));
        add(pool::optimizer,
            in.state,
            r.state_offset,
            state_layout_of(plan_->config, r.type).bytes(r.shard(in.state.over)));
        blocks.push_back({r.first_block, norm_blocks(r.shard())});
      }
    }
    for (auto const p : {pool::parameters, pool::gradients, pool::optimizer}) {
      for (int t = 0; t < tier_count; ++t) {
        auto const in = static_cast<tier>(t);
        set_bytes(p, in, parts[row_of(p, in)]);
      }
    }
    agree(end_of_parts(blocks, 1, "the norm's blocks"),
          plan_->layout.norm_blocks,
          "the norm's blocks");
  }

  /// A slot is as large as the largest unit that any operation of any pass puts into it.
  void measure_slots() {
    auto parameters = at_offsets(plan_->slots.parameters.slot_offsets);
    auto gradients = at_offsets(plan_->slots.gradients.slot_offsets);
    rank_places const& places = places_;
    std::int64_t piece = 0;
    for (auto const& pass : plan_->passes) {
      for (auto const& op : pass.operations) {
        if (op.unit < 0) {
          continue;
        }
        auto const& unit = plan_->layout.unit(op.unit);
        if (op.parameter_slot >= 0) {
          auto& size = parameters[static_cast<std::size_t>(op.parameter_slot)].size;
          size = std::max(size, unit.parameter_slot_bytes);
        }
        if (op.gradient_slot >= 0) {
          auto& size = gradients[static_cast<std::size_t>(op.gradient_slot)].size;
          size = std::max(size, unit.gradient_slot_bytes);
        }
        for (auto const& t : transfers_of(places, op)) {
          if (t.kind == collective::all_to_others) {
            piece = std::max(piece, t.bytes * (plan_->config.world - 1));
          }
        }
      }
    }
    std::vector<extent> received{{0, piece}, {plan_->pools.receive_bytes, piece}};
    set_bytes(pool::parameter_slots, tier::device, parameters);
    set_bytes(pool::gradient_slots, tier::device, gradients);
    set_bytes(pool::receive, tier::device, received);
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
      for (auto const& r : plan_->layout.ranges_of(unit)) {
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
    for (std::size_t i = 0; i < pool_rows; ++i) {
      total += bytes_[i];
      if (i < pool_count || bytes_[i] > 0) {
        parts += std::string(i == 0 ? " " : ", ") + name(plan_->pools.rows[i].purpose) + " " +
                 std::to_string(bytes_[i]);
      }
    }
    return "rank " + std::to_string(places_.rank()) + " of " + std::to_string(plan_->config.world) +
           " in " + stage_text(plan_->config) + " plans " + std::to_string(total) +
           " bytes:" + parts + "; shard more with a higher stage, or more ranks";
  }

  void release() noexcept {
    for (std::size_t i = 0; i < pool_rows; ++i) {
      if (base_[i] != nullptr) {
        allocators_.deallocate(plan_->pools.rows[i].in, base_[i], bytes_[i]);
        base_[i] = nullptr;
      }
    }
  }

  [[nodiscard]] static constexpr std::size_t row_of(pool p, tier in) {
    return pool_plan::index(p, in);
  }

  tier_allocators<Device> allocators_;
  execution_plan const* plan_;
  rank_places places_;
  std::array<std::int64_t, pool_rows> bytes_{};
  std::array<std::int64_t, pool_rows> allocated_{};
  std::array<std::byte*, pool_rows> base_{};
};

}  // namespace zero::inline ZERO_ABI::detail
