// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/nccl/detail/own_calls.hpp>

#include "tests/support/lone_nccl.hpp"

#include <zero/comm/detail/deadline.hpp>
#include <zero/comm/nccl/options.hpp>
#include <zero/core/error.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

using zero::detail::nccl_handle;
using zero::detail::nccl_own_calls;
using zero::detail::nccl_sums;
using zero::detail::nccl_watchdog;

namespace {

struct lone {
  nccl_handle handle{zero::test::lone_nccl(), true};
  nccl_sums sums;
  nccl_watchdog watchdog{handle, {}};
  nccl_own_calls calls{handle, watchdog, sums};

  /// Whether the watchdog has seen all operations end, which takes it a turn.
  [[nodiscard]] bool soon_idle() const {
    zero::detail::deadline const soon(std::chrono::seconds(10));
    while (!watchdog.idle() && !soon.passed()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return watchdog.idle();
  }
};

struct value {
  std::int64_t number;
  char text[40];

  bool operator==(value const&) const = default;
};

}  // namespace

TEST_CASE("values of any size are gathered whole") {
  lone rank;
  CHECK(rank.calls.gather(std::int32_t{7}, "test") == std::vector<std::int32_t>{7});
  value const mine{1'234'567'890'123, "a value"};
  CHECK(rank.calls.gather(mine, "test") == std::vector<value>{mine});
  CHECK(rank.soon_idle());
}

TEST_CASE("warming up leaves nothing in flight, whatever the size") {
  for (std::int64_t const bytes : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1} << 20}) {
    CAPTURE(bytes);
    lone rank;
    CHECK_NOTHROW(rank.calls.warm_up(bytes));
    CHECK(rank.soon_idle());
    CHECK_FALSE(rank.handle.failed());
  }
}

TEST_CASE("a rank that has failed makes no calls of its own") {
  lone rank;
  rank.handle.fail(std::make_exception_ptr(zero::logic_error("the first failure")));
  CHECK_THROWS_AS(static_cast<void>(rank.calls.gather(1, "test")), zero::logic_error);
  CHECK_THROWS_AS(rank.calls.warm_up(0), zero::logic_error);
}
