// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/peer/gpu/transport.hpp>

#include "tests/support/lone_transport.hpp"
#include "tests/support/text.hpp"

#include <zero/core/error.hpp>

#include <doctest/doctest.h>

#include <cuda_runtime_api.h>

#include <exception>
#include <string>

using base = zero::test::logging_base<cudaStream_t>;
using zero::peer_transport;
using zero::test::transport_log;

static_assert(zero::transport<peer_transport<base>>);
static_assert(zero::peer_transport<base>::name == base::name);

// What ranks do that share memory is in the tests of the communicator, with a base of files, and of
// NCCL's link.

static void call_all(peer_transport<base>& by) {
  by.all_gather(nullptr, {}, nullptr, nullptr, 8);
  by.all_to_others(nullptr, {}, nullptr, 8, nullptr, 8);
  by.reduce_scatter(nullptr, {}, nullptr, 8, zero::dtype::fp32, 1);
  by.all_reduce(nullptr, {}, nullptr, 8, zero::dtype::fp32);
  by.broadcast(nullptr, {}, nullptr, 8, 0);
  by.begin_group();
  CHECK(by.in_group());
  by.end_group();
  CHECK_FALSE(by.in_group());
  by.begin_watch(nullptr, {});
  by.end_watch(nullptr);
  by.register_memory(nullptr, 8);
  CHECK_FALSE(by.reads_others(nullptr, 8));
  by.deregister_memory(nullptr);
  by.check();
  by.leave();
  by.abort("why");
  by.finish();
}

TEST_CASE("where ranks do not share memory, and where there is one, the base does all") {
  for (int const ranks : {1, 2}) {
    CAPTURE(ranks);
    transport_log log;
    bool const shares = ranks == 1;
    peer_transport<base> by({.shares = shares}, log, ranks - 1, ranks);
    CHECK(by.rank() == ranks - 1);
    CHECK(by.size() == ranks);
    CHECK(by.device() == 0);
    CHECK(by.shares() == shares);
    CHECK(log.empty());
    call_all(by);
    CHECK(log == transport_log{"all_gather",
                               "all_to_others",
                               "reduce_scatter",
                               "all_reduce",
                               "broadcast",
                               "begin_watch",
                               "end_watch",
                               "register_memory",
                               "deregister_memory",
                               "check",
                               "leave",
                               "abort: why",
                               "drain",
                               "close"});
  }
}

TEST_CASE("ranks of one process are refused, and the base is closed") {
  transport_log log;
  try {
    peer_transport<base> const by({.shares = true}, log, 0, 2);
    FAIL("no exception");
  } catch (zero::logic_error const& error) {
    CHECK(zero::test::contains(
        error.what(),
        "zero::test: sharing needs a process for each rank; zero::Local is for ranks that share"));
  }
  REQUIRE_FALSE(log.empty());
  CHECK(log.front() == "first meeting");
  CHECK(log.back() == "close");
}
