// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/detail/control_block.hpp>
#include <zero/detail/operation_context.hpp>
#include <zero/detail/pool_memory.hpp>
#include <zero/detail/typed_ranges.hpp>
#include <zero/device/update_arguments.hpp>
#include <zero/optim/step_control.hpp>
#include <zero/plan/config.hpp>
#include <zero/plan/control.hpp>
#include <zero/plan/groups.hpp>
#include <zero/plan/layout.hpp>
#include <zero/plan/operation.hpp>
#include <zero/plan/plan.hpp>
#include <zero/plan/state_layout.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// The bodies of the step's own operations: the norm, the decision after the agreement, the update.
template <class Device, class Optimizer, class Parameter, bool NativeAccumulate>
class step_bodies {
 public:
  using stream = typename Device::stream_type;
  using kernels = typename Device::kernels;
  using types = typed_ranges<Parameter, NativeAccumulate>;

  step_bodies(pool_memory<Device> const& memory, control_block<Optimizer> const& control)
      : memory_(&memory),
        control_(control) {
    auto const& plan = memory.places().plan();
    for (std::size_t r = 0; r < plan.layout.ranges.size(); ++r) {
      auto const& range = plan.layout.ranges[r];
      auto const begin = memory.places().owned_begin(range);
      auto const clipped = clip_segments(plan.groups,
                                         static_cast<std::int32_t>(r),
                                         begin,
                                         begin + memory.places().owned_elements(range));
      first_segment_.push_back(static_cast<std::int32_t>(segments_.size()));
      segments_.insert(segments_.end(), clipped.begin(), clipped.end());
    }
    first_segment_.push_back(static_cast<std::int32_t>(segments_.size()));
  }

  /// The update segments of the owned elements, to be copied to `control.segments()`.
  [[nodiscard]] std::vector<update_segment> const& segments() const { return segments_; }

  void norm(operation_context const& context, step_control const& control, stream s) {
    if (!context.control_is_set) {
      kernels::set_control(s, control_.control(), control);
    }
    auto const& places = memory_->places();
    kernels::reduce_partials(s,
                             control_.partials(),
                             places.plan().layout.norm_blocks,
                             control_.scratch(),
                             &control_.records()[places.rank()].squares);
  }

  /// All records are here: the agreement's end.
  void decide(operation_context const& context, stream s) {
    kernels::template decide<Optimizer>(s,
                                        control_.state(),
                                        control_.records(),
                                        memory_->places().plan().config.world,
                                        control_.control(),
                                        control_.config(),
                                        control_.ring(),
                                        context.step % result_ring);
  }

  void update(operation const& op, stream s) {
    auto const& places = memory_->places();
    auto const& plan = places.plan();
    types::for_trained(
        plan,
        op,
        [&]<class P, class A>(unit_range const& r, std::type_identity<P>, std::type_identity<A>) {
          auto const index = static_cast<std::size_t>(&r - plan.layout.ranges.data());
          auto const state = state_layout_of(plan.config, r.type);
          update_arguments<P, A> arguments{};
          arguments.gradient = memory_->template at<A const>(places.owned_accumulators(r));
          arguments.master = memory_->template at<float>(places.masters(r));
          for (int i = 0; i < Optimizer::moments; ++i) {
            arguments.moments[i] =
                memory_->template at<float>(places.state(r, state.find(state_role::moment, i)));
          }
          arguments.parameter = memory_->template at<P>(places.owned_parameters(r));
          arguments.n = places.owned_elements(r);
          arguments.segments = control_.segments() + first_segment_[index];
          arguments.segment_count = first_segment_[index + 1] - first_segment_[index];
          kernels::template update<Optimizer, P, A>(s, arguments, control_.state());
        });
  }

 private:
  pool_memory<Device> const* memory_;
  control_block<Optimizer> control_;
  std::vector<update_segment> segments_;
  std::vector<std::int32_t> first_segment_;
};

}  // namespace zero::inline ZERO_ABI::detail
