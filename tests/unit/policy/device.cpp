// SPDX-License-Identifier: Apache-2.0
#include <zero/policy/device.hpp>

#include <doctest/doctest.h>

#include <type_traits>

static_assert(std::is_empty_v<zero::device_category>);
static_assert(std::is_same_v<zero::device_category::default_policy, zero::Host>);

TEST_CASE("a list names a device once or not at all") {
  CHECK(zero::device_category::check_given_once<0>::value);
  CHECK(zero::device_category::check_given_once<1>::value);
}
