// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/nccl/detail/link.hpp>

#include "tests/support/lone_nccl.hpp"
#include "tests/support/text.hpp"

#include <zero/device/gpu/stream.hpp>

#include <doctest/doctest.h>

#include <cuda_runtime_api.h>

#include <exception>
#include <string>

using zero::collective;
using zero::detail::nccl_link;

namespace {

zero::nccl_options const quick{.warm_up_bytes = 0};

}  // namespace

TEST_CASE("warming up is not counted, and ends with nothing in flight") {
  nccl_link link(zero::test::lone_nccl(), true, quick);
  CHECK(link.counters.read() == zero::traffic{});
  CHECK_FALSE(link.handle.failed());
  link.finish();
}

TEST_CASE("zero bytes are counted and call nothing") {
  nccl_link link(zero::test::lone_nccl(), true, quick);
  bool called = false;
  link.run(nullptr, {}, {collective::all_gather, 0}, "test", [&](ncclComm_t) {
    called = true;
    return ncclSuccess;
  });
  CHECK_FALSE(called);
  link.finish();
}

TEST_CASE("a result that is an error is thrown, and stays") {
  nccl_link link(zero::test::lone_nccl(), true, quick);
  auto const fail = [&] {
    link.run(nullptr, {}, {collective::all_gather, 4}, "ncclAllGather", [](ncclComm_t) {
      return ncclInvalidArgument;
    });
  };
  CHECK_THROWS_AS(fail(), zero::nccl_error);
  CHECK_THROWS_AS(link.handle.check(), zero::nccl_error);
  link.finish();
}

TEST_CASE("abort is told by the next call, with its reason") {
  nccl_link link(zero::test::lone_nccl(), true, quick);
  link.abort("the user's reason");
  try {
    link.begin_group();
    FAIL("no exception");
  } catch (zero::peer_error const& error) {
    CHECK(zero::test::contains(error.what(), "rank 0 has failed: the user's reason"));
    CHECK(error.rank() == 0);
  }
  link.finish();
}
