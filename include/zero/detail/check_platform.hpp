// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/abilities.hpp>
#include <zero/comm/concepts.hpp>
#include <zero/comm/local.hpp>
#include <zero/device/abilities.hpp>
#include <zero/device/concepts.hpp>
#include <zero/device/host.hpp>
#include <zero/device/kernel_concepts.hpp>
#include <zero/optim/concepts.hpp>
#include <zero/policy/concepts.hpp>
#include <zero/version.hpp>

#include <concepts>
#include <type_traits>

namespace zero::inline ZERO_ABI::detail {

// --- questions, which never fail

/// A device policy that names something as its device.
template <class Policy>
concept names_device = requires { typename Policy::device; };

/// A device policy that names a device.
template <class Policy>
concept names_model_of_device =
    names_device<Policy> && requires { requires device<typename Policy::device>; };

/// A device whose kernels are defined, and all there.
template <class D, class O, class P, class A>
concept has_kernels = complete<typename D::kernels> &&
                      kernels_of<typename D::kernels, typename D::stream_type, O, P, A>;

/// A communicator policy that names something as its communicator for a device policy.
template <class Policy, class DevicePolicy>
concept names_communicator = requires { typename Policy::template communicator<DevicePolicy>; };

/// A communicator policy that names a communicator for a device policy.
template <class Policy, class DevicePolicy>
concept names_model_of_communicator = names_communicator<Policy, DevicePolicy> && requires {
  requires communicator<typename Policy::template communicator<DevicePolicy>>;
};

/// A communicator whose calls take the streams of a device.
template <class C, class D>
concept takes_stream_of = std::convertible_to<typename D::stream_type, typename C::stream_type>;

/// Abilities are whole, or not there: a device with `upload` and without `download` would be taken
/// for one that has the host's memory. Sees members that are neither overloaded nor templates.
template <class D>
concept whole_device_abilities =
    (separate_memory_device<D> || !(
                                      requires { &D::upload; } || requires { &D::download; })) &&
    (stream_ordering_device<D> || !(
                                      requires { &D::include; } || requires { &D::make_wait; })) &&
    (graph_device<D> || !(
                            requires { &D::begin_capture; } || requires { &D::end_capture; } ||
                            requires { &D::abandon_capture; } || requires { &D::launch; })) &&
    (delayable_device<D> || !requires { &D::set_delay; });

/// The same of a communicator.
template <class C>
concept whole_communicator_abilities =
    (peer_reading_communicator<C> || !requires { &C::reads_others; }) &&
    (watching_communicator<C> ||
     !(
         requires { &C::begin_watch; } || requires { &C::end_watch; })) &&
    (registering_communicator<C> ||
     !(
         requires { &C::register_memory; } || requires { &C::deregister_memory; } ||
         requires { &C::registers_sources; }));

/// A device policy whose device is one, with all of each ability that it has a part of.
template <class Policy>
concept named_device_is_whole =
    names_model_of_device<Policy> && whole_device_abilities<typename Policy::device>;

/// A device policy whose device has the kernels that an engine launches.
template <class Policy, class O, class P, class A>
concept named_device_has_kernels =
    names_model_of_device<Policy> && has_kernels<typename Policy::device, O, P, A>;

// --- judgements, each of one thing, and each only of what is in order so far

/// Judges what a device policy names.
template <class Policy>
struct check_device_policy {
  static constexpr bool value = true;
  static_assert(names_device<Policy>,
                "zero::ZeroEngine: this device policy names no device; write `using device = ...;` "
                "in it, with a class that models zero::device.");
  static_assert(!names_device<Policy> || names_model_of_device<Policy>,
                "zero::ZeroEngine: what this device policy names as its device does not model "
                "zero::device; give the class what <zero/device/concepts.hpp> lists.");
};

/// Judges the abilities of the device that a policy names.
template <class Policy>
struct check_device_abilities {
  static constexpr bool value = true;
  static_assert(whole_device_abilities<typename Policy::device>,
                "zero::ZeroEngine: this device has a part of an ability and not all of it (upload "
                "and download; include and make_wait; begin_capture, end_capture, abandon_capture "
                "and launch; set_delay of a hook that takes queue and stream); complete it as "
                "<zero/device/abilities.hpp> says, or leave it out.");
};

/// Judges the kernels of the device that a policy names.
template <class Policy, class O, class P, class A>
struct check_kernels {
  using kernels = typename Policy::device::kernels;
  static constexpr bool value = true;
  static_assert(
      complete<kernels>,
      "zero::ZeroEngine: the kernels of this device are only declared; include the header "
      "that defines them.");
  static_assert(!complete<kernels> || has_kernels<typename Policy::device, O, P, A>,
                "zero::ZeroEngine: the kernels of this device lack a function that an engine "
                "launches; give the class what <zero/device/kernel_concepts.hpp> lists, with the "
                "arguments of zero::host_kernels.");
};

/// Judges what a communicator policy names for a device policy.
template <class Policy, class DevicePolicy>
struct check_communicator_policy {
  static constexpr bool value = true;
  static_assert(names_communicator<Policy, DevicePolicy>,
                "zero::ZeroEngine: this communicator policy names no communicator for this device; "
                "write `template <class Device> using communicator = ...;` in it, or take another: "
                "Local serves Host, Cuda with <zero/cuda.cuh>, and devices of your own that have "
                "the host's memory and zero::host_stream.");
  static_assert(
      !names_communicator<Policy, DevicePolicy> ||
          names_model_of_communicator<Policy, DevicePolicy>,
      "zero::ZeroEngine: what this communicator policy names as its communicator does not "
      "model zero::communicator; give the class what <zero/comm/concepts.hpp> lists.");
};

/// Judges the communicator that a policy names, beside the device.
template <class Policy, class DevicePolicy>
struct check_communicator {
  using communicator = typename Policy::template communicator<DevicePolicy>;
  static constexpr bool takes_stream = takes_stream_of<communicator, typename DevicePolicy::device>;
  static constexpr bool value = true;
  static_assert(takes_stream,
                "zero::ZeroEngine: the calls of this communicator do not take the streams of this "
                "device; make its stream_type one that the device's converts to.");
  static_assert(!takes_stream || whole_communicator_abilities<communicator>,
                "zero::ZeroEngine: this communicator has a part of an ability and not all of it "
                "(reading_type, reads_others and read_others; begin_watch and end_watch; "
                "register_memory, deregister_memory and registers_sources); complete it as "
                "<zero/comm/abilities.hpp> says, or leave it out.");
};

/// Judges what an engine's device is made of.
template <class D, class... Arguments>
struct check_device_arguments {
  static constexpr bool value = true;
  static constexpr bool made = std::constructible_from<D, int, Arguments...>;
  static_assert(made,
                "zero::ZeroEngine: the device cannot be made of a number of events and what stands "
                "behind the options; pass the device's own arguments there, e.g. "
                "zero::cuda_options for Cuda and nothing for Host.");
};

// --- both together

/// The device and the communicator that two policies name for engines of an optimizer, a
/// parameter's and an accumulator's type; those of the host where something is wrong with them, so
/// that one mistake is one error.
template <class Communicator, class Device, class O, class P, class A>
struct platform {
  using device = host_device;
  using communicator = local_communicator;
};

template <class Communicator, class Device, class O, class P, class A>
  requires named_device_is_whole<Device> && optimizer<O> &&
           named_device_has_kernels<Device, O, P, A> &&
           names_model_of_communicator<Communicator, Device> &&
           takes_stream_of<typename Communicator::template communicator<Device>,
                           typename Device::device> &&
           whole_communicator_abilities<typename Communicator::template communicator<Device>>
struct platform<Communicator, Device, O, P, A> {
  using device = typename Device::device;
  using communicator = typename Communicator::template communicator<Device>;
};

/// Judges by `Check` where all before it is in order.
template <bool Sound, class Check>
using check_if = std::conditional_t<Sound, Check, std::true_type>;

/// Judges a communicator policy and a device policy as an engine uses them, one thing after the
/// other as long as all is in order.
template <class Communicator, class Device, class O, class P, class A>
struct check_platform {
  static constexpr bool value = true;
  static constexpr bool named = names_model_of_device<Device>;
  static constexpr bool whole = named_device_is_whole<Device> && optimizer<O>;
  static constexpr bool equipped = whole && named_device_has_kernels<Device, O, P, A>;
  static constexpr bool connected = equipped && names_model_of_communicator<Communicator, Device>;
  static_assert(check_device_policy<Device>::value);
  static_assert(check_if<named, check_device_abilities<Device>>::value);
  static_assert(check_if<whole, check_kernels<Device, O, P, A>>::value);
  static_assert(check_if<equipped, check_communicator_policy<Communicator, Device>>::value);
  static_assert(check_if<connected, check_communicator<Communicator, Device>>::value);
};

}  // namespace zero::inline ZERO_ABI::detail
