// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/nccl/detail/connect.hpp>

#include "tests/support/lone_nccl.hpp"
#include "tests/support/text.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <thread>

using namespace std::chrono_literals;
using zero::detail::connect_in_time;

TEST_CASE("a connection that is made is returned") {
  ncclComm_t const comm = connect_in_time(0, 60s, "test", [](ncclComm_t* made) {
    *made = zero::test::lone_nccl();
    return ncclSuccess;
  });
  CHECK(comm != nullptr);
  CHECK(ncclCommDestroy(comm) == ncclSuccess);
}

TEST_CASE("NCCL's refusal is thrown") {
  try {
    static_cast<void>(
        connect_in_time(0, 60s, "test", [](ncclComm_t*) { return ncclInvalidUsage; }));
    FAIL("no exception");
  } catch (zero::nccl_error const& error) {
    CHECK(error.code() == ncclInvalidUsage);
    CHECK(std::string(error.call()) == "test");
  }
}

TEST_CASE("a connection that takes too long is given up") {
  auto const start = std::chrono::steady_clock::now();
  try {
    static_cast<void>(connect_in_time(0, 100ms, "test", [](ncclComm_t*) {
      std::this_thread::sleep_for(2s);
      return ncclSuccess;
    }));
    FAIL("no exception");
  } catch (zero::peer_error const& error) {
    CHECK(zero::test::contains(error.what(), "within 100 ms"));
  }
  CHECK(std::chrono::steady_clock::now() - start < 2s);
}

TEST_CASE("a communicator is split, blocking or not") {
  for (bool const blocking : {true, false}) {
    ncclComm_t const parent = zero::test::lone_nccl(blocking);
    for (bool const child_blocking : {true, false}) {
      zero::nccl_options options;
      options.blocking = child_blocking;
      ncclComm_t const child = zero::detail::split_in_time(
          parent, 0, 0, options.limit, zero::detail::make_config(options));
      CHECK(child != nullptr);
      CHECK(ncclCommDestroy(child) == ncclSuccess);
    }
    CHECK(ncclCommDestroy(parent) == ncclSuccess);
  }
}

TEST_CASE("the configuration follows the options") {
  zero::nccl_options options;
  options.blocking = false;
  options.max_ctas = 4;
  auto const config = zero::detail::make_config(options);
  CHECK(config.blocking == 0);
  CHECK(config.maxCTAs == 4);
  CHECK(config.minCTAs == NCCL_CONFIG_UNDEF_INT);
  options.cta_policy = zero::nccl_cta_policy::zero;
  if (zero::detail::nccl_features::of_library().cta_policy) {
    CHECK_NOTHROW(static_cast<void>(zero::detail::make_config(options)));
  } else {
    CHECK_THROWS_AS(static_cast<void>(zero::detail::make_config(options)), zero::logic_error);
  }
}
