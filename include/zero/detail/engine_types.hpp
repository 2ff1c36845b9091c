// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>
#include <zero/detail/executor.hpp>
#include <zero/detail/operations.hpp>
#include <zero/device/host.hpp>
#include <zero/version.hpp>

#include <type_traits>

namespace zero::inline ZERO_ABI::detail {

/// The policies that code depends on, apart from the container and the stage: engines that differ
/// only in these share all code below.
template <class Device, class Communicator, class Optimizer, class Parameter, bool NativeAccumulate>
struct engine_types {
  using device = Device;
  using communicator = Communicator;
  using optimizer = Optimizer;
  using parameter_type = Parameter;
  using bodies = operations<Device, Communicator, Optimizer, Parameter, NativeAccumulate>;
  /// What the memory of the device is called in reports.
  static constexpr char const* tier = std::is_same_v<Device, host_device> ? "host" : "device";
  using runner = executor<Device, bodies, Communicator>;
};

/// Whether calls that are in flight when a communicator fails may leave undefined bytes behind:
/// where something has to watch them and to cut them short. Others fail inside the call.
template <class Communicator>
inline constexpr bool cut_short_by_failure =
    requires(Communicator& c, typename Communicator::stream_type s, collective_tag const& tag) {
      c.begin_watch(s, tag);
    };

}  // namespace zero::inline ZERO_ABI::detail
