// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/nccl/error.hpp>

#include "tests/support/text.hpp"

#include <doctest/doctest.h>

#include <string>

TEST_CASE("a failed call of NCCL throws its code and name") {
  CHECK_NOTHROW(zero::check_nccl(ncclSuccess, "ncclAllGather"));
  CHECK_NOTHROW(zero::check_nccl(ncclInProgress, "ncclAllGather"));
  try {
    zero::check_nccl(ncclInvalidUsage, "ncclAllGather");
    FAIL("no exception");
  } catch (zero::nccl_error const& error) {
    CHECK(error.code() == ncclInvalidUsage);
    CHECK(std::string(error.call()) == "ncclAllGather");
    CHECK(zero::test::contains(error.what(), "ncclAllGather"));
    CHECK(zero::test::contains(error.what(), ncclGetErrorString(ncclInvalidUsage)));
  }
}
