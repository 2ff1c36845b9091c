// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/nccl/detail/calls.hpp>

#include "tests/support/lone_nccl.hpp"

#include <zero/comm/nccl/detail/handle.hpp>

#include <doctest/doctest.h>

using zero::dtype;
using zero::detail::nccl_handle;
using zero::detail::nccl_sums;

static_assert(zero::detail::nccl_type(dtype::fp32) == ncclFloat32);
static_assert(zero::detail::nccl_type(dtype::bf16) == ncclBfloat16);
static_assert(zero::detail::nccl_type(dtype::fp16) == ncclFloat16);

TEST_CASE("one operator a type is kept, and made anew for another scale") {
  nccl_handle handle(zero::test::lone_nccl(), true);
  nccl_sums sums;
  handle.inside([&](ncclComm_t comm) {
    CHECK(sums.of(comm, dtype::fp32, 1) == ncclSum);
    auto const third = sums.of(comm, dtype::fp32, 1.0 / 3);
    CHECK(third >= ncclNumOps);
    CHECK(sums.of(comm, dtype::fp32, 1.0 / 3) == third);
    CHECK(sums.of(comm, dtype::bf16, 1.0 / 3) != third);
    for (int i = 2; i < 100; ++i) {
      CHECK(sums.of(comm, dtype::fp32, 1.0 / i) >= ncclNumOps);
    }
  });
}

TEST_CASE("the exchange of one rank moves nothing and leaves no group open") {
  nccl_handle handle(zero::test::lone_nccl(), true);
  handle.inside([](ncclComm_t comm) {
    CHECK(zero::detail::nccl_exchange(comm, 0, 1, nullptr, nullptr, 0, nullptr, 8) == ncclSuccess);
  });
  CHECK(ncclGroupEnd() != ncclSuccess);
}
