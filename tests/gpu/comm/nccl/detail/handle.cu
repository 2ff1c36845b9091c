// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/nccl/detail/handle.hpp>

#include "tests/support/lone_nccl.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <exception>
#include <stdexcept>
#include <thread>

using namespace std::chrono_literals;
using zero::detail::nccl_handle;

TEST_CASE("a handle knows its rank, size and device") {
  nccl_handle handle(zero::test::lone_nccl(), true);
  CHECK(handle.rank() == 0);
  CHECK(handle.size() == 1);
  CHECK(handle.device() == 0);
  CHECK_FALSE(handle.failed());
  CHECK_NOTHROW(handle.check());
  CHECK(handle.asynchronous_error() == ncclSuccess);
}

TEST_CASE("an exception inside makes the rank fail, and the first one stays") {
  nccl_handle handle(zero::test::lone_nccl(), true);
  CHECK_THROWS_AS(handle.inside([](ncclComm_t) { throw std::runtime_error("first"); }),
                  std::runtime_error);
  handle.fail(std::make_exception_ptr(std::logic_error("second")));
  CHECK(handle.failed());
  CHECK_THROWS_AS(handle.check(), std::runtime_error);
  bool reached = false;
  CHECK_THROWS_AS(handle.inside([&](ncclComm_t) { reached = true; }), std::runtime_error);
  CHECK_FALSE(reached);
  handle.stop();
  CHECK(handle.get() == nullptr);
  handle.stop();
}

TEST_CASE("groups nest, and an error closes them") {
  nccl_handle handle(zero::test::lone_nccl(), true);
  handle.begin_group();
  handle.begin_group();
  CHECK(handle.in_group());
  CHECK_FALSE(handle.end_group());
  CHECK(handle.end_group());
  CHECK_FALSE(handle.in_group());
  handle.begin_group();
  handle.begin_group();
  CHECK_THROWS_AS(handle.inside([](ncclComm_t) { throw std::runtime_error("in a group"); }),
                  std::runtime_error);
  CHECK_FALSE(handle.in_group());
  CHECK(ncclGroupEnd() != ncclSuccess);  // NCCL has no group open either
}

TEST_CASE("a thread inside is seen from outside") {
  nccl_handle handle(zero::test::lone_nccl(), true);
  CHECK(handle.inside_for(nccl_handle::clock::now()) == 0ns);
  handle.inside([&](ncclComm_t) {
    std::this_thread::sleep_for(20ms);
    std::thread([&] { CHECK(handle.inside_for(nccl_handle::clock::now()) >= 20ms); }).join();
  });
  CHECK(handle.inside_for(nccl_handle::clock::now()) == 0ns);
}

TEST_CASE("a user's communicator is his to destroy, after a failure too where it can be revoked") {
  ncclComm_t const mine = zero::test::lone_nccl();
  {
    nccl_handle const handle(mine, false);
    CHECK(handle.get() == mine);
  }
  bool gone = false;
  {
    nccl_handle handle(mine, false);
    handle.fail(std::make_exception_ptr(std::runtime_error("lost")));
    handle.stop();
    gone = handle.get() == nullptr;
    CHECK(gone == !handle.features().revoke);
  }
  if (!gone) {
    CHECK(ncclCommDestroy(mine) == ncclSuccess);
  }
}
