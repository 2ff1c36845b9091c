// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/fwd.hpp>
#include <zero/policy/concepts.hpp>
#include <zero/version.hpp>

#include <type_traits>

namespace zero::inline ZERO_ABI {

/// Whether a communicator can carry bytes of a device's memory. A communicator of your own that is
/// bound to a device specialises this; the others serve every device.
template <class Communicator, class Device>
inline constexpr bool serves_device_v = true;

/// NCCL reads and writes memory of CUDA devices only.
template <class Device>
inline constexpr bool serves_device_v<Nccl, Device> = std::is_same_v<Device, Cuda>;

namespace detail {

/// The rules between policies of two categories, one way round.
template <class A, class B>
inline constexpr bool allowed_beside_v = [] {
  if constexpr (policy_of<A, communicator_category> && policy_of<B, device_category>) {
    return serves_device_v<A, B>;
  } else {
    return true;
  }
}();

}  // namespace detail

/// Whether one engine can have both policies `A` and `B`: they are choices of two categories, and
/// no rule forbids the pair. A predicate: it never fails to compile, and is false for what is no
/// policy.
/// @see valid_policies for whole argument lists, defaults included.
template <class A, class B>
inline constexpr bool compatible_v = [] {
  if constexpr (policy<A> && policy<B>) {
    return !std::is_same_v<typename A::policy_category, typename B::policy_category> &&
           detail::allowed_beside_v<A, B> && detail::allowed_beside_v<B, A>;
  } else {
    return false;
  }
}();

}  // namespace zero::inline ZERO_ABI
