// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/nccl/options.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>

TEST_CASE("the loaded NCCL says its version, and features follow it") {
  int const version = zero::nccl_library_version();
  CHECK(version >= 21800);
  auto const features = zero::detail::nccl_features::of_library();
  int const known = version < NCCL_VERSION_CODE ? version : NCCL_VERSION_CODE;
  CHECK(features.memory == (known >= 21901));
  CHECK(features.windows == (known >= 22703));
  CHECK(features.cta_policy == (known >= 22803));
  CHECK(features.revoke == (known >= 22807));
}

TEST_CASE("the defaults are the contract's") {
  zero::nccl_options const options;
  CHECK(options.limit == std::chrono::seconds(120));
  CHECK(options.registration == zero::nccl_registration::none);
  CHECK(options.cta_policy == zero::nccl_cta_policy::library);
  CHECK(options.blocking);
  CHECK_FALSE(options.split);
  CHECK(options.peer_reading_bytes == std::int64_t{64} << 20);
}
