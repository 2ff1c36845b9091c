// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/detail/local_transport.hpp>

#include "tests/support/rank_threads.hpp"
#include "tests/support/text.hpp"

#include <zero/core/error.hpp>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

using namespace std::chrono_literals;
using zero::detail::local_meeting;
using zero::detail::local_transport;

static_assert(zero::transport<local_transport>);

// The laws, with counters and checks, are in the tests of local_communicator.

TEST_CASE("each rank has its seat, once, and moves bytes without the shell around it") {
  auto const meeting = std::make_shared<local_meeting>(2, 10s);
  auto const errors = zero::test::errors_of_ranks(2, [&](int rank) {
    local_transport by(meeting, rank);
    CHECK_THROWS_AS(local_transport(meeting, rank), zero::logic_error);
    CHECK(by.rank() == rank);
    CHECK(by.size() == 2);
    std::array<char, 2> all{};
    all[static_cast<std::size_t>(rank)] = static_cast<char>('a' + rank);
    by.all_gather({}, {.sequence = 1}, all.data() + rank, all.data(), 1);
    CHECK(std::string(all.data(), 2) == "ab");
    by.check();
  });
  CHECK(errors[0].empty());
  CHECK(errors[1].empty());
}

TEST_CASE("a transport that finishes has left") {
  auto const meeting = std::make_shared<local_meeting>(2, 10s);
  local_transport gone(meeting, 0);
  local_transport other(meeting, 1);
  gone.finish();
  char byte = 0;
  try {
    other.broadcast({}, {.step = 3, .operation_name = "gather"}, &byte, 1, 0);
    FAIL("no exception");
  } catch (zero::peer_error const& error) {
    CHECK(zero::test::contains(error.what(), "rank 0 left before its first collective"));
  }
}
