// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/fwd.hpp>
#include <zero/policy/device.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <type_traits>

namespace zero::inline ZERO_ABI {

/// Whether a communicator can carry bytes of a device's memory. A communicator of your own that is
/// bound to a device specialises this; the others serve every device.
template <class Communicator, class Device>
inline constexpr bool serves_device_v = true;

/// NCCL reads and writes memory of CUDA devices only.
template <class Device>
inline constexpr bool serves_device_v<Nccl, Device> = std::is_same_v<Device, Cuda>;

/// Category of `Local` and `Nccl`: who carries bytes between the ranks.
struct communicator_category {
  using default_policy = Local;  ///< ranks are threads of one process

  /// Judges how often an engine's list chooses.
  template <std::size_t Count>
  struct check_given_once {
    static constexpr bool value = true;  ///< to be asserted on
    static_assert(Count <= 1,
                  "zero::ZeroEngine: a communicator was given more than once; keep one.");
  };
  /// Whether an engine can have `Communicator` beside `Other`, its choice of `Category`.
  template <class Communicator, class Category, class Other>
  static constexpr bool allows =
      !std::is_same_v<Category, device_category> || serves_device_v<Communicator, Other>;

  /// The same, with its sentence.
  template <class Communicator, class Category, class Other>
  struct check_allowed {
    static constexpr bool value = true;  ///< to be asserted on
    static_assert(
        allows<Communicator, Category, Other>,
        "zero::ZeroEngine: this communicator cannot carry the memory of this device; Nccl needs "
        "the policy Cuda beside it, on the host use Local.");
  };
};

}  // namespace zero::inline ZERO_ABI
