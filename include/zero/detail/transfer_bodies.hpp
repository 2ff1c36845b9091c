// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/abilities.hpp>
#include <zero/comm/concepts.hpp>
#include <zero/core/dtype.hpp>
#include <zero/core/traffic.hpp>
#include <zero/detail/operation_context.hpp>
#include <zero/detail/pool_memory.hpp>
#include <zero/detail/typed_ranges.hpp>
#include <zero/device/kernel_concepts.hpp>
#include <zero/plan/layout.hpp>
#include <zero/plan/operation.hpp>
#include <zero/plan/pass_kind.hpp>
#include <zero/plan/pieces.hpp>
#include <zero/plan/transfers.hpp>
#include <zero/version.hpp>

#include <cstdint>

namespace zero::inline ZERO_ABI::detail {

/// The name of an operation for the communicator and its messages.
[[nodiscard]] inline collective_tag tag_of(operation const& op, operation_context const& context) {
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

/// The bodies of the operations that move bytes: makes the calls that `transfers_of` says.
template <class Device, class Communicator, class Parameter, bool NativeAccumulate>
class transfer_bodies {
 public:
  using stream = typename Device::stream_type;

  /// Whether sums can do without an exchange: the communicator finds the ranks' parts, and there
  /// are kernels that read them.
  static constexpr bool can_read_others = [] {
    if constexpr (peer_reading_communicator<Communicator>) {
      using kernels = typename Device::kernels;
      using reading = typename Communicator::reading_type;
      using sums = typename typed_ranges<Parameter, NativeAccumulate>::accumulator;
      return peer_summing_kernels<kernels, stream, reading, Parameter, sums> &&
             peer_summing_kernels<kernels, stream, reading, sums, sums> &&
             peer_summing_kernels<kernels, stream, reading, float, float>;
    } else {
      return false;
    }
  }();

  transfer_bodies(pool_memory<Device> const& memory, Communicator& communicator)
      : memory_(&memory),
        communicator_(&communicator) {}

  void run(operation const& op, operation_context const& context, stream s) {
    if (op.kind == operation_kind::exchange && reads_others(op)) {
      return;  // the sum does it
    }
    auto const transfers = transfers_of(memory_->places(), op);
    auto const tag = tag_of(op, context);
    bool const grouped = op.unit >= 0 && op.range < 0;  // the ranges of a unit move together
    if (grouped) {
      communicator_->begin_group();
    }
    for (auto const& t : transfers) {
      call(t, tag, s);
    }
    if (grouped) {
      communicator_->end_group();
    }
  }

  /// This rank's part of what a piece's sum adds.
  [[nodiscard]] place own_part(operation const& op) const {
    return own_shard(op) + op.piece_begin * width(op);
  }

  /// Whether the sum of a piece reads the other ranks' parts where they lie.
  [[nodiscard]] bool reads_others(operation const& op) const {
    if constexpr (can_read_others) {
      return communicator_->reads_others(memory_->at(own_shard(op)),
                                         range_of(op).shard() * width(op));
    }
    return false;
  }

 private:
  void call(transfer const& t, collective_tag const& tag, stream s) {
    auto* const from = memory_->at(t.from);
    auto* const to = memory_->at(t.to);
    switch (t.kind) {
      case collective::all_gather:
        return communicator_->all_gather(s, tag, from, to, t.bytes);
      case collective::all_to_others:
        return communicator_->all_to_others(s, tag, from, t.stride, to, t.bytes);
      case collective::reduce_scatter:
        return communicator_->reduce_scatter(
            s, tag, to, t.bytes / bytes_of(t.type), t.type, t.prescale);
      case collective::all_reduce:
      case collective::broadcast:
        break;  // outside of plans
    }
  }

  [[nodiscard]] unit_range const& range_of(operation const& op) const {
    return memory_->places().plan().layout.range(op.range);
  }

  /// Bytes of an element of what is exchanged.
  [[nodiscard]] std::int64_t width(operation const& op) const {
    return wire_bytes(memory_->places().plan().config, range_of(op).type, op.has(flag_wide));
  }

  [[nodiscard]] place own_shard(operation const& op) const {
    auto const& places = memory_->places();
    auto const& r = range_of(op);
    return reduced_gradients(places, op, r) + r.shard_begin(places.rank()) * width(op);
  }

  pool_memory<Device> const* memory_;
  Communicator* communicator_;
};

}  // namespace zero::inline ZERO_ABI::detail
