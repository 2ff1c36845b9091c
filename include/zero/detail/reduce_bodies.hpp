// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/norm.hpp>
#include <zero/detail/operation_context.hpp>
#include <zero/detail/pool_memory.hpp>
#include <zero/detail/transfer_bodies.hpp>
#include <zero/detail/typed_ranges.hpp>
#include <zero/plan/operation.hpp>
#include <zero/plan/transfers.hpp>
#include <zero/version.hpp>

#include <cstdint>
#include <type_traits>

namespace zero::inline ZERO_ABI::detail {

/// The bodies of the operations that add gradients up: `accumulate` and `sum`.
template <class Device, class Communicator, class Parameter, bool NativeAccumulate>
class reduce_bodies {
 public:
  using stream = typename Device::stream_type;
  using kernels = typename Device::kernels;
  using types = typed_ranges<Parameter, NativeAccumulate>;
  using transfers = transfer_bodies<Device, Communicator, Parameter, NativeAccumulate>;

  /// @param partials  where the norm's blocks are
  /// @param poison    what was received is spoilt when it has been added
  reduce_bodies(pool_memory<Device> const& memory,
                Communicator& communicator,
                double* partials,
                bool poison)
      : memory_(&memory),
        communicator_(&communicator),
        moves_(memory, communicator),
        partials_(partials),
        poison_(poison) {}

  void accumulate(operation const& op, stream s) {
    auto const& places = memory_->places();
    types::for_trained(
        places.plan(),
        op,
        [&]<class P, class A>(unit_range const& r, std::type_identity<P>, std::type_identity<A>) {
          kernels::template accumulate<P, A>(
              s,
              memory_->template at<P const>(reduced_gradients(places, op, r)),
              memory_->template at<A>(places.held_accumulators(r)),
              r.elements,
              !op.has(flag_first),
              1.0F,
              partials_of(op, r));
        });
  }

  void sum(operation const& op, operation_context const& context, stream s) {
    auto const& plan = memory_->places().plan();
    if (op.receive < 0) {
      return types::for_trained(
          plan,
          op,
          [&]<class P, class A>(unit_range const& r, std::type_identity<P>, std::type_identity<A>) {
            take_over<P, A>(op, r, s);
          });
    }
    types::with_types(
        plan.layout.range(op.range),
        [&]<class P, class A>(unit_range const& r, std::type_identity<P>, std::type_identity<A>) {
          if (op.has(flag_wide)) {
            sum_piece<A, A>(op, r, context, s);
          } else {
            sum_piece<P, A>(op, r, context, s);
          }
        });
  }

 private:
  [[nodiscard]] double* partials_of(operation const& op, unit_range const& r) const {
    return op.has(flag_last) ? partials_ + r.first_block + op.piece_begin / norm_block : nullptr;
  }

  /// The communicator has added: its result goes to the accumulators, undone of its prescale. Where
  /// the accumulators travelled, it is there already, and had none to undo.
  template <class P, class A>
  void take_over(operation const& op, unit_range const& r, stream s) {
    auto const& places = memory_->places();
    auto* const own = memory_->template at<A>(places.shard_accumulators(r));
    if (op.has(flag_wide)) {
      kernels::template squares<A>(s, own, r.shard(), partials_of(op, r));
    } else {
      auto const* const summed = memory_->template at<P const>(reduced_gradients(places, op, r));
      kernels::template accumulate<P, A>(s,
                                         summed + r.shard_begin(places.rank()),
                                         own,
                                         r.shard(),
                                         !op.has(flag_first),
                                         static_cast<float>(undone_scale(places.plan().config)),
                                         partials_of(op, r));
    }
  }

  /// The own part is read where it lies: in the gradient slot, or in the accumulators themselves.
  template <class W, class A>
  void sum_piece(operation const& op,
                 unit_range const& r,
                 operation_context const& context,
                 stream s) {
    auto const& places = memory_->places();
    auto const count = op.piece_end - op.piece_begin;
    auto const world = places.plan().config.world;
    auto* const own = memory_->template at<W>(moves_.own_part(op));
    auto* const accumulator =
        memory_->template at<A>(places.shard_accumulators(r)) + op.piece_begin;
    auto* const received = memory_->template at<W>(places.receive(op.receive));
    if constexpr (transfers::can_read_others) {
      if (moves_.reads_others(op)) {
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
                                static_cast<W const*>(own),
                                static_cast<W const*>(received),
                                count,
                                places.rank(),
                                world,
                                accumulator,
                                count,
                                !op.has(flag_first),
                                partials_of(op, r));
    if (poison_) {
      kernels::fill(s, received, 0xff, count * (world - 1) * static_cast<std::int64_t>(sizeof(W)));
    }
  }

  pool_memory<Device> const* memory_;
  Communicator* communicator_;
  transfers moves_;
  double* partials_;
  bool poison_;
};

}  // namespace zero::inline ZERO_ABI::detail
