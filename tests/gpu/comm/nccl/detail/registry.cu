// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/nccl/detail/registry.hpp>

#include "tests/support/lone_nccl.hpp"

#include <zero/comm/nccl/memory.hpp>
#include <zero/device/gpu/memory.hpp>

#include <doctest/doctest.h>

using zero::nccl_registration;
using zero::detail::nccl_registry;

TEST_CASE("what the library cannot register is refused at construction") {
  auto const features = zero::detail::nccl_features::of_library();
  CHECK_NOTHROW(nccl_registry(nccl_registration::none));
  if (!features.registration) {
    CHECK_THROWS_AS(nccl_registry(nccl_registration::buffer), zero::logic_error);
  }
  if (!features.windows) {
    CHECK_THROWS_AS(nccl_registry(nccl_registration::symmetric), zero::logic_error);
  }
}

TEST_CASE("ranges are added, removed and forgotten") {
  auto const features = zero::detail::nccl_features::of_library();
  if (!features.memory) {
    return;
  }
  for (auto const kind : {nccl_registration::buffer, nccl_registration::symmetric}) {
    if ((kind == nccl_registration::buffer && !features.registration) ||
        (kind == nccl_registration::symmetric && !features.windows)) {
      continue;
    }
    zero::gpu::memory const one(4 << 20, "one", zero::nccl_allocator());
    zero::gpu::memory const two(4 << 20, "two", zero::nccl_allocator());
    ncclComm_t const comm = zero::test::lone_nccl();
    nccl_registry registry(kind);
    registry.add(comm, one.get(), one.size());
    registry.add(comm, two.get(), two.size());
    registry.remove(comm, one.get());
    registry.remove(comm, one.get());
    registry.clear(comm);
    registry.clear(nullptr);
    CHECK(ncclCommDestroy(comm) == ncclSuccess);
  }
}
