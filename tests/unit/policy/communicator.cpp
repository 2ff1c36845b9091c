// SPDX-License-Identifier: Apache-2.0
#include <zero/policy/communicator.hpp>

#include <zero/policy/device.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace {

using zero::communicator_category;
using zero::device_category;

struct other_category {};

static_assert(std::is_empty_v<communicator_category>);
static_assert(std::is_same_v<communicator_category::default_policy, zero::Local>);

}  // namespace

TEST_CASE(
    "a communicator refuses a device that it does not serve, and nothing of other categories") {
  CHECK(communicator_category::allows<zero::Nccl, device_category, zero::Cuda>);
  CHECK_FALSE(communicator_category::allows<zero::Nccl, device_category, zero::Host>);
  CHECK(communicator_category::allows<zero::Local, device_category, zero::Cuda>);
  CHECK(communicator_category::allows<zero::Local, device_category, zero::Host>);
  CHECK(communicator_category::allows<zero::Nccl, other_category, zero::Host>);
}
