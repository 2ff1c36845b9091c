// SPDX-License-Identifier: Apache-2.0
#include <zero/detail/check_platform.hpp>

#include "tests/support/far_device.hpp"
#include "tests/support/inline_device.hpp"
#include "tests/support/mailbox.hpp"
#include "tests/support/peer_mailbox.hpp"

#include <zero/comm/local.hpp>
#include <zero/device/host.hpp>
#include <zero/device/host_kernels.hpp>
#include <zero/optim/adamw.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <type_traits>

namespace {

using zero::AdamW;
using zero::bf16;
using zero::Host;
using zero::host_device;
using zero::Local;
using zero::local_communicator;
using zero::test::Far;
using zero::test::far_device;
using zero::test::Inline;
using zero::test::inline_device;
using zero::test::Mailbox;
using zero::test::mailbox_communicator;

// [expected-error texts: tests/compile_fail]; here, what is accepted, and what stands in for what
// is not.
template <class Communicator, class Device>
using chosen = zero::detail::platform<Communicator, Device, AdamW, bf16, float>;

template <class Communicator, class Device>
constexpr bool judged =
    zero::detail::check_platform<Communicator, Device, AdamW, bf16, float>::value;

template <class Communicator, class Device>
constexpr bool refused =
    std::is_same_v<typename chosen<Communicator, Device>::device, host_device> &&
    std::is_same_v<typename chosen<Communicator, Device>::communicator, local_communicator>;

static_assert(judged<Local, Host>);
static_assert(judged<Local, Inline>);
static_assert(judged<Mailbox, Host>);
static_assert(judged<Mailbox, Far>);
static_assert(judged<zero::test::PeerMailbox, Inline>);
static_assert(std::is_same_v<chosen<Local, Host>::communicator, local_communicator>);
static_assert(std::is_same_v<chosen<Local, Inline>::device, inline_device>);
static_assert(std::is_same_v<chosen<Local, Inline>::communicator, local_communicator>);
static_assert(std::is_same_v<chosen<Mailbox, Far>::device, far_device>);
static_assert(std::is_same_v<chosen<Mailbox, Far>::communicator, mailbox_communicator<far_device>>);
static_assert(refused<Local, Far>, "local ranks cannot look behind its addresses");

template <class Device>
struct policy_of_device {
  using policy_category = zero::device_category;
  using device = Device;
};

template <class Communicator>
struct policy_of_communicator {
  using policy_category = zero::communicator_category;
  template <class>
  using communicator = Communicator;
};

struct nameless_device {
  using policy_category = zero::device_category;
};

struct nameless_communicator {
  using policy_category = zero::communicator_category;
};

struct half_memory : inline_device {
  using inline_device::inline_device;

  void download(void*, void const*, std::int64_t) {}
};

struct half_graphs : inline_device {
  using inline_device::inline_device;

  void launch(int) {}
};

struct half_streams : inline_device {
  using inline_device::inline_device;

  void make_wait(zero::host_stream) {}
};

struct other_delay : inline_device {
  using inline_device::inline_device;

  void set_delay(int) {}
};

struct declared_kernels : inline_device {
  using inline_device::inline_device;
  struct kernels;
};

struct few_kernels : inline_device {
  using inline_device::inline_device;

  struct kernels : zero::host_kernels {
    static void decide() {}
  };
};

static_assert(refused<Local, nameless_device>);
static_assert(refused<Local, policy_of_device<int>>);
static_assert(refused<Local, policy_of_device<half_memory>>);
static_assert(refused<Local, policy_of_device<half_graphs>>);
static_assert(refused<Local, policy_of_device<half_streams>>);
static_assert(refused<Local, policy_of_device<other_delay>>);
static_assert(refused<Local, policy_of_device<declared_kernels>>);
static_assert(refused<Local, policy_of_device<few_kernels>>);

using mail = mailbox_communicator<inline_device>;

struct half_watch : mail {
  using mail::mail;

  void end_watch(stream_type) {}
};

struct half_registers : mail {
  using mail::mail;

  [[nodiscard]] bool registers_sources() const { return false; }
};

struct half_reads : mail {
  using mail::mail;

  [[nodiscard]] bool reads_others(void const*, std::int64_t) const { return true; }
};

static_assert(!refused<policy_of_communicator<mail>, Inline>);
static_assert(refused<nameless_communicator, Inline>);
static_assert(refused<policy_of_communicator<int>, Inline>);
static_assert(refused<policy_of_communicator<half_watch>, Inline>);
static_assert(refused<policy_of_communicator<half_registers>, Inline>);
static_assert(refused<policy_of_communicator<half_reads>, Inline>);
static_assert(refused<policy_of_communicator<mail>, Far>, "it takes another stream");

TEST_CASE("a device is made of a number of events and of what stands behind the options") {
  CHECK(zero::detail::check_device_arguments<far_device>::made);
  CHECK(zero::detail::check_device_arguments<far_device, int>::made);
  CHECK(zero::detail::check_device_arguments<host_device, zero::host_options>::made);
}

}  // namespace
