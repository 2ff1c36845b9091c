// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/detail/control_block.hpp>
#include <zero/detail/operation_context.hpp>
#include <zero/detail/pool_memory.hpp>
#include <zero/detail/reduce_bodies.hpp>
#include <zero/detail/step_bodies.hpp>
#include <zero/detail/transfer_bodies.hpp>
#include <zero/device/kernel_concepts.hpp>
#include <zero/optim/step_control.hpp>
#include <zero/plan/groups.hpp>
#include <zero/plan/operation.hpp>
#include <zero/version.hpp>

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
  using transfers = transfer_bodies<Device, Communicator, Parameter, NativeAccumulate>;

  operations(pool_memory<Device> const& memory,
             control_block<Optimizer> const& control,
             Communicator& communicator,
             bool poison)
      : moves_(memory, communicator),
        sums_(memory, communicator, control.partials(), poison),
        step_(memory, control) {}

  /// The update segments of the owned elements, to be copied to `control.segments()`.
  [[nodiscard]] std::vector<update_segment> const& segments() const { return step_.segments(); }

  /// Loads every kernel that the operations can launch, where a device loads lazily.
  void preload() {
    using accumulator = typename typed_ranges<Parameter, NativeAccumulate>::accumulator;
    if constexpr (preloading_kernels<kernels, Optimizer, Parameter, accumulator>) {
      kernels::template preload<Optimizer, Parameter, accumulator>();
      kernels::template preload<Optimizer, float, float>();
    }
    if constexpr (transfers::can_read_others) {
      kernels::template preload_sums_of_peers<Parameter, accumulator>();
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
      case operation_kind::publish:
      case operation_kind::exchange:
      case operation_kind::reduce_scatter:
      case operation_kind::gather_sums:
        return moves_.run(op, context, s);
      case operation_kind::accumulate:
        return sums_.accumulate(op, s);
      case operation_kind::sum:
        return sums_.sum(op, context, s);
      case operation_kind::norm:
        return step_.norm(context, control, s);
      case operation_kind::agree:
        moves_.run(op, context, s);
        return step_.decide(context, s);
      case operation_kind::update:
        return step_.update(op, s);
    }
  }

 private:
  transfers moves_;
  reduce_bodies<Device, Communicator, Parameter, NativeAccumulate> sums_;
  step_bodies<Device, Optimizer, Parameter, NativeAccumulate> step_;
};

}  // namespace zero::inline ZERO_ABI::detail
