// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/nccl/detail/operations.hpp>

#include "tests/support/lone_nccl.hpp"
#include "tests/support/text.hpp"

#include <zero/core/error.hpp>
#include <zero/device/gpu/stream.hpp>

#include <doctest/doctest.h>

#include <chrono>

using namespace std::chrono_literals;
using zero::collective;
using zero::detail::nccl_operations;

namespace {

/// The operations of one rank, ended at the end.
struct lone : nccl_operations {
  explicit lone(zero::nccl_options const& options = {})
      : nccl_operations(zero::test::lone_nccl(), true, options) {}

  ~lone() { close(); }
};

}  // namespace

TEST_CASE("an operation of nothing calls nothing") {
  lone rank;
  bool called = false;
  rank.run(nullptr, {}, {collective::all_gather, 0, "test"}, [&](ncclComm_t) {
    called = true;
    return ncclSuccess;
  });
  CHECK_FALSE(called);
}

TEST_CASE("a result that is an error is thrown, and stays") {
  lone rank;
  auto const fail = [&] {
    rank.run(nullptr, {}, {collective::all_gather, 4, "ncclAllGather"}, [](ncclComm_t) {
      return ncclInvalidArgument;
    });
  };
  CHECK_THROWS_AS(fail(), zero::nccl_error);
  CHECK_THROWS_AS(rank.check(), zero::nccl_error);
}

TEST_CASE("abort is told by the next call, with its reason") {
  lone rank;
  rank.abort("the user's reason");
  try {
    rank.begin_group();
    FAIL("no exception");
  } catch (zero::peer_error const& error) {
    CHECK(zero::test::contains(error.what(), "rank 0 has failed: the user's reason"));
    CHECK(error.rank() == 0);
  }
}

TEST_CASE("the last of a group comes once, behind the outermost one") {
  lone rank;
  zero::gpu::stream const stream(zero::gpu::stream_priority::normal);
  int enqueued = 0;
  int last = 0;
  auto const count = [&] {
    CHECK(enqueued == 2);
    ++last;
  };
  rank.begin_group();
  rank.begin_group();
  rank.operate(stream.get(), {}, collective::all_gather, [&] { ++enqueued; });
  rank.end_group(count);
  CHECK(last == 0);
  rank.operate(stream.get(), {}, collective::all_gather, [&] { ++enqueued; });
  rank.end_group(count);
  CHECK(last == 1);
  rank.begin_group();
  rank.end_group(count);  // nothing was in it
  CHECK(last == 1);
}

TEST_CASE("draining waits for what nobody watches, and not for ever") {
  lone rank({.limit = 50ms});
  int asked = 0;
  rank.drain([&] { return ++asked == 3; });
  CHECK(asked == 3);
  CHECK_FALSE(rank.failed());
  rank.drain([] { return false; });
  CHECK(rank.failed());
  CHECK_THROWS_AS(rank.check(), zero::peer_error);
}

TEST_CASE("a rank that has left takes no more operations, and a call of one is its failure") {
  lone rank;
  rank.leave();
  CHECK_THROWS_AS(rank.operate(nullptr, {}, collective::all_gather, [] {}), zero::logic_error);
  CHECK(rank.failed());
  rank.close();
  CHECK(rank.handle.get() == nullptr);
}
