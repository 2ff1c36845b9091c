// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/abilities.hpp>
#include <zero/comm/concepts.hpp>
#include <zero/core/dtype.hpp>
#include <zero/detail/control_block.hpp>
#include <zero/detail/operation_context.hpp>
#include <zero/detail/pool_memory.hpp>
#include <zero/device/kernel_concepts.hpp>
#include <zero/device/update_arguments.hpp>
#include <zero/optim/step_control.hpp>
#include <zero/optim/step_state.hpp>
#include <zero/plan/plan.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// The bodies of the operations: what each kind does with the buffers that it declared. Knows
/// nothing of stages, queues or order.
///
/// @tparam Device        memory and kernels
/// @tparam Communicator  collectives
/// @tparam Optimizer     element-wise functor
/// @tparam Parameter     the 16-bit (or FP32) type of most parameters; FP32 ones may stand beside
/// it
/// @tparam NativeAccumulate  accumulators in the parameter's type instead of FP32
template <class Device, class Communicator, class Optimizer, class Parameter, bool NativeAccumulate>
class operations {
 public:
  using stream = typename Device::stream_type;
  using kernels = typename Device::kernels;

  using accumulator_type = std::conditional_t<NativeAccumulate, Parameter, float>;

  /// Whether sums can do without an exchange: the communicator finds the ranks' parts, and there
  /// are kernels that read them.
  static constexpr bool can_read_others = [] {
    if constexpr (peer_reading_communicator<Communicator>) {
      using reading = typename Communicator::reading_type;
      return peer_summing_kernels<kernels, stream, reading, Parameter, accumulator_type> &&
             peer_summing_kernels<kernels, stream, reading, accumulator_type, accumulator_type> &&
             peer_summing_kernels<kernels, stream, reading, float, float>;
    } else {
      return false;
    }
  }();

  operations(execution_plan const& plan,
             pool_memory<Device> const& memory,
             control_block<Optimizer> const& control,
             Communicator& communicator,
             double prescale,
             bool poison)
      : plan_(&plan),
        memory_(&memory),
        control_(control),
        communicator_(&communicator),
        prescale_(prescale),
        poison_(poison) {
    for (auto const& r : plan.layout.ranges) {
      auto const begin = memory.owned_begin(r);
      auto const clipped = clip_segments(plan.groups,
                                         static_cast<std::int32_t>(&r - plan.layout.ranges.data()),
                                         begin,
                                         begin + memory.owned_elements(r));
      first_segment_.push_back(static_cast<std::int32_t>(segments_.size()));
      segments_.insert(segments_.end(), clipped.begin(), clipped.end());
    }
    first_segment_.push_back(static_cast<std::int32_t>(segments_.size()));
  }

  /// The update segments of the owned elements, to be copied to `control.segments()`.
  [[nodiscard]] std::vector<update_segment> const& segments() const { return segments_; }

  /// What a reduction multiplies each contribution by before it is added. FP32 sums need no room
  /// above them: where the accumulators travel as FP32, contributions stay as they are.
  [[nodiscard]] double prescale(bool wide) const {
    return wide && !NativeAccumulate ? 1.0 : prescale_;
  }

  /// Loads every kernel that the operations can launch, where a device loads lazily.
  void preload() {
    if constexpr (preloading_kernels<kernels, Optimizer, Parameter, accumulator_type>) {
      kernels::template preload<Optimizer, Parameter, accumulator_type>();
      kernels::template preload<Optimizer, float, float>();
    }
    if constexpr (can_read_others) {
      kernels::template preload_sums_of_peers<Parameter, accumulator_type>();
      kernels::template preload_sums_of_peers<float, float>();
    }
  }

  /// Runs one operation on `s`. `control` matters to `norm` only.
  void run(operation const& op,
           operation_context const& context,
           step_control const& control,
           stream s) {
    switch (op.kind) {
      case operation_kind::acquire:
      case operation_kind::release:
        return;
      case operation_kind::gather:
        return gather(op, context, s);
      case operation_kind::publish:
        return publish(op, context, s);
      case operation_kind::accumulate:
        return accumulate(op, s);
      case operation_kind::exchange:
        return exchange(op, context, s);
      case operation_kind::reduce_scatter:
        return reduce_scatter(op, context, s);
      case operation_kind::sum:
        return sum(op, context, s);
      case operation_kind::gather_sums:
        return gather_sums(op, context, s);
      case operation_kind::norm:
        return norm(context, control, s);
      case operation_kind::agree:
        return agree(op, context, s);
      case operation_kind::update:
        return update(op, s);
    }
  }

 private:
  /// Calls `f(range, type_identity<P>, type_identity<A>)` for each range of the operation's unit.
  template <class F>
  void for_ranges(operation const& op, bool trained_only, F&& f) {
    auto const& unit = plan_->layout.units[static_cast<std::size_t>(op.unit)];
    for (auto i = unit.first_range; i < unit.first_range + unit.ranges; ++i) {
      auto const& r = plan_->layout.ranges[static_cast<std::size_t>(i)];
      if (!(trained_only && r.frozen)) {
        with_types(r, f);
      }
    }
  }

  template <class F>
  void with_types(unit_range const& r, F&& f) {
    if (r.type == dtype_of<Parameter>) {
      f(r, std::type_identity<Parameter>{}, std::type_identity<accumulator_type>{});
    } else {
      f(r, std::type_identity<float>{}, std::type_identity<float>{});
    }
  }

  [[nodiscard]] static collective_tag tag_of(operation const& op,
                                             operation_context const& context) {
    collective_tag tag;
    tag.sequence = context.sequence;
    tag.step = context.step;
    tag.unit = op.unit;
    tag.operation = static_cast<std::uint8_t>(op.kind);
    tag.pass = context.pass;
    tag.operation_name = name(op.kind);
    tag.unit_name = context.unit_name;
    tag.pass_name = name(pass_at(context.pass));
    return tag;
  }

  void gather(operation const& op, operation_context const& context, stream s) {
    auto* const slot = memory_->parameter_slot(op.parameter_slot);
    communicator_->begin_group();
    for_ranges(op, false, [&](unit_range const& r, auto, auto) {
      communicator_->all_gather(s,
                                tag_of(op, context),
                                memory_->shard_parameters(r),
                                slot + r.parameter_slot_offset,
                                r.shard * bytes_of(r.type));
    });
    communicator_->end_group();
  }

  void publish(operation const& op, operation_context const& context, stream s) {
    communicator_->begin_group();
    for_ranges(op, true, [&](unit_range const& r, auto, auto) {
      communicator_->all_gather(s,
                                tag_of(op, context),
                                memory_->shard_parameters(r),
                                memory_->held_parameters(r),
                                r.shard * bytes_of(r.type));
    });
    communicator_->end_group();
  }

  void gather_sums(operation const& op, operation_context const& context, stream s) {
    communicator_->begin_group();
    for_ranges(op, true, [&](unit_range const& r, auto, auto) {
      communicator_->all_gather(s,
                                tag_of(op, context),
                                memory_->shard_accumulators(r),
                                memory_->held_accumulators(r),
                                r.shard * accumulator_bytes(plan_->config, r.type));
    });
    communicator_->end_group();
  }

  [[nodiscard]] double* partials_of(operation const& op, unit_range const& r) const {
    return op.has(flag_last) ? control_.partials() + r.first_block + op.piece_begin / norm_block
                             : nullptr;
  }

  template <class T>
  [[nodiscard]] static T* as(std::byte* p) {
    return reinterpret_cast<T*>(p);
  }

  void accumulate(operation const& op, stream s) {
    auto* const slot = memory_->gradient_slot(op.gradient_slot);
    for_ranges(
        op,
        true,
        [&]<class P, class A>(unit_range const& r, std::type_identity<P>, std::type_identity<A>) {
          kernels::template accumulate<P, A>(s,
                                             as<P const>(slot + r.gradient_slot_offset),
                                             as<A>(memory_->held_accumulators(r)),
                                             r.elements,
                                             !op.has(flag_first),
                                             partials_of(op, r));
        });
  }

  /// The source of what travels: the gradient slot, or the accumulators when these are wide.
  [[nodiscard]] std::byte* outgoing(operation const& op, unit_range const& r) const {
    return op.has(flag_wide) ? memory_->held_accumulators(r)
                             : memory_->gradient_slot(op.gradient_slot) + r.gradient_slot_offset;
  }

  void exchange(operation const& op, operation_context const& context, stream s) {
    auto const& r = plan_->layout.ranges[static_cast<std::size_t>(op.range)];
    auto const wire = wire_bytes(plan_->config, r.type, op.has(flag_wide));
    if (reads_others(op, r)) {
      return;  // the sum does it
    }
    communicator_->all_to_others(s,
                                 tag_of(op, context),
                                 outgoing(op, r) + op.piece_begin * wire,
                                 r.shard * wire,
                                 memory_->receive(op.receive),
                                 (op.piece_end - op.piece_begin) * wire);
  }

  void reduce_scatter(operation const& op, operation_context const& context, stream s) {
    communicator_->begin_group();
    for_ranges(
        op,
        true,
        [&]<class P, class A>(unit_range const& r, std::type_identity<P>, std::type_identity<A>) {
          bool const wide = op.has(flag_wide);
          communicator_->reduce_scatter(s,
                                        tag_of(op, context),
                                        outgoing(op, r),
                                        r.shard,
                                        wide ? dtype_of<A> : dtype_of<P>,
                                        prescale(wide));
        });
    communicator_->end_group();
  }

  /// This rank's part of what a piece's sum adds.
  [[nodiscard]] std::byte* own_part(operation const& op, unit_range const& r) const {
    return outgoing(op, r) + (memory_->shard_begin(r) + op.piece_begin) *
                                 wire_bytes(plan_->config, r.type, op.has(flag_wide));
  }

  /// Whether the sum of a piece reads the other ranks' parts where they lie.
  [[nodiscard]] bool reads_others(operation const& op, unit_range const& r) const {
    if constexpr (can_read_others) {
      auto const wire = wire_bytes(plan_->config, r.type, op.has(flag_wide));
      return communicator_->reads_others(outgoing(op, r) + memory_->shard_begin(r) * wire,
                                         r.shard * wire);
    }
    return false;
  }

  void sum(operation const& op, operation_context const& context, stream s) {
    if (op.receive >= 0) {
      with_types(
          plan_->layout.ranges[static_cast<std::size_t>(op.range)],
          [&]<class P, class A>(unit_range const& r, std::type_identity<P>, std::type_identity<A>) {
            if (op.has(flag_wide)) {
              sum_piece<A, A>(op, r, context, s);
            } else {
              sum_piece<P, A>(op, r, context, s);
            }
          });
      return;
    }
    for_ranges(
        op,
        true,
        [&]<class P, class A>(unit_range const& r, std::type_identity<P>, std::type_identity<A>) {
          auto* const own = as<A>(memory_->shard_accumulators(r));
          if (op.has(flag_wide)) {  // the sum of all ranks is in place already
            kernels::template squares<A>(s, own, r.shard, partials_of(op, r));
          } else {
            kernels::template accumulate<P, A>(
                s,
                as<P const>(outgoing(op, r)) + memory_->shard_begin(r),
                own,
                r.shard,
                !op.has(flag_first),
                partials_of(op, r));
          }
        });
  }

  /// The own part is read where it lies: in the gradient slot, or in the accumulators themselves.
  template <class W, class A>
  void sum_piece(operation const& op,
                 unit_range const& r,
                 operation_context const& context,
                 stream s) {
    auto const count = op.piece_end - op.piece_begin;
    auto const world = plan_->config.world;
    auto* const own = own_part(op, r);
    auto* const accumulator = as<A>(memory_->shard_accumulators(r)) + op.piece_begin;
    if constexpr (can_read_others) {
      if (reads_others(op, r)) {
        auto const bytes = count * static_cast<std::int64_t>(sizeof(W));
        bool const continues = op.piece_begin > 0;
        communicator_->read_others(
            s, tag_of(op, context), own, bytes, continues, [&](auto const& reading) {
              kernels::template sum_of_peers<W, A>(
                  s, reading, accumulator, count, !op.has(flag_first), partials_of(op, r));
            });
        return;
      }
    }
    kernels::template sum<W, A>(s,
                                as<W const>(own),
                                as<W const>(memory_->receive(op.receive)),
                                count,
                                communicator_->rank(),
                                world,
                                accumulator,
                                count,
                                !op.has(flag_first),
                                partials_of(op, r));
    if (poison_) {
      kernels::fill(s,
                    memory_->receive(op.receive),
                    0xff,
                    count * (world - 1) * static_cast<std::int64_t>(sizeof(W)));
    }
  }

  void norm(operation_context const& context, step_control const& control, stream s) {
    if (!context.control_is_set) {
      kernels::set_control(s, control_.control(), control);
    }
    kernels::reduce_partials(s,
                             control_.partials(),
                             plan_->layout.norm_blocks,
                             control_.scratch(),
                             &control_.records()[communicator_->rank()].squares);
  }

  void agree(operation const& op, operation_context const& context, stream s) {
    auto const world = plan_->config.world;
    if (world > 1) {
      communicator_->all_gather(s,
                                tag_of(op, context),
                                control_.records() + communicator_->rank(),
                                control_.records(),
                                static_cast<std::int64_t>(sizeof(rank_record)));
    }
    kernels::template decide<Optimizer>(s,
                                        control_.state(),
                                        control_.records(),
                                        world,
                                        control_.control(),
                                        control_.config(),
                                        control_.ring(),
                                        context.step % result_ring);
  }

  void update(operation const& op, stream s) {
    for_ranges(
        op,
        true,
        [&]<class P, class A>(unit_range const& r, std::type_identity<P>, std::type_identity<A>) {
          auto const index = static_cast<std::size_t>(&r - plan_->layout.ranges.data());
          update_arguments<P, A> arguments{};
          arguments.gradient = as<A const>(memory_->owned_accumulators(r));
          arguments.master = memory_->masters(r);
          for (int i = 0; i < Optimizer::moments; ++i) {
            arguments.moments[i] = memory_->moments(r, i);
          }
          arguments.parameter = as<P>(memory_->owned_parameters(r));
          arguments.n = memory_->owned_elements(r);
          arguments.segments = control_.segments() + first_segment_[index];
          arguments.segment_count = first_segment_[index + 1] - first_segment_[index];
          kernels::template update<Optimizer, P, A>(s, arguments, control_.state());
        });
  }

  execution_plan const* plan_;
  pool_memory<Device> const* memory_;
  control_block<Optimizer> control_;
  Communicator* communicator_;
  double prescale_;
  bool poison_;
  std::vector<update_segment> segments_;
  std::vector<std::int32_t> first_segment_;
};

}  // namespace zero::inline ZERO_ABI::detail
