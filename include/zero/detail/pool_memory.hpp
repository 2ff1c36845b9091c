// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>
#include <zero/plan/plan.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace zero::detail {

/// The pools of one rank: one allocation each, sized from where the last thing in it ends, and held
/// against the plan. Answers where everything lies; knows nothing of when.
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
  /// Bytes of each pool from its contents, apart from the plan's own sums.
  void measure() {
    auto at = [&](pool p) -> std::int64_t& { return bytes_[static_cast<std::size_t>(p)]; };
    auto grow = [&](pool p, std::int64_t end) { at(p) = std::max(at(p), end); };
    for (auto const& r : plan_->layout.ranges) {
      auto const& unit = unit_of(r);
      grow(
          pool::parameters,
          r.parameter_offset + (unit.parameters_sharded ? r.shard : r.elements) * bytes_of(r.type));
      if (!r.frozen) {
        grow(pool::gradients,
             r.accumulator_offset + (unit.gradients_sharded ? r.shard : r.elements) *
                                        accumulator_bytes(plan_->config, r.type));
        grow(pool::optimizer,
             r.state_offset + owned_elements(r) * state_bytes(plan_->config, r.type));
      }
    }
    // A slot is as large as the largest unit that any operation of any pass puts into it.
    auto const& pools = plan_->pools;
    std::vector<std::int64_t> parameter_slots(pools.parameter_slots.size(), 0);
    std::vector<std::int64_t> gradient_slots(pools.gradient_slots.size(), 0);
    std::int64_t piece = 0;
    for (auto const& pass : plan_->passes) {
      for (auto const& op : pass.operations) {
        if (op.unit < 0) {
          continue;
        }
        auto const& unit = plan_->layout.units[static_cast<std::size_t>(op.unit)];
        if (op.parameter_slot >= 0) {
          auto& slot = parameter_slots[static_cast<std::size_t>(op.parameter_slot)];
          slot = std::max(slot, unit.parameter_slot_bytes);
        }
        if (op.gradient_slot >= 0) {
          auto& slot = gradient_slots[static_cast<std::size_t>(op.gradient_slot)];
          slot = std::max(slot, unit.gradient_slot_bytes);
        }
        if (op.kind == operation_kind::exchange) {
          auto const& r = plan_->layout.ranges[static_cast<std::size_t>(op.range)];
          piece = std::max(piece,
                           (op.piece_end - op.piece_begin) * plan_->config.world *
                               wire_bytes(plan_->config, r.type, op.has(flag_wide)));
        }
      }
    }
    for (auto const b : parameter_slots) {
      at(pool::parameter_slots) += b;
    }
    for (auto const b : gradient_slots) {
      at(pool::gradient_slots) += b;
    }
    at(pool::receive) = 2 * piece;
    at(pool::control) = control_layout_of(*plan_).bytes;
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

}  // namespace zero::detail
