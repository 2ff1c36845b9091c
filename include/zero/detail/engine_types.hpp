// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/detail/executor.hpp>
#include <zero/detail/operations.hpp>
#include <zero/device/abilities.hpp>
#include <zero/version.hpp>

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
  static constexpr char const* tier = separate_memory_device<Device> ? "device" : "host";
  using runner = executor<Device, bodies, Communicator>;
};

}  // namespace zero::inline ZERO_ABI::detail
