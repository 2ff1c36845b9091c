// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/peer/gpu/detail/range.hpp>

#include <zero/device/gpu/memory.hpp>

#include <doctest/doctest.h>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

using zero::detail::peer_range;

TEST_CASE("an offer says where the range lies, and what cannot be offered") {
  zero::gpu::memory const whole(std::int64_t{4} << 20, "whole");
  auto* const bytes = static_cast<std::byte*>(whole.get());
  auto const offer = peer_range::make_offer(bytes + 512, 1024);
  CHECK(offer.error == cudaSuccess);
  CHECK(offer.offset == 512);
  CHECK(offer.bytes == 1024);
  CHECK(offer.process == peer_range::this_process());
  CHECK(peer_range::make_offer(bytes, std::int64_t{1} << 40).error != cudaSuccess);
  int on_host = 0;
  CHECK(peer_range::make_offer(&on_host, 4).error != cudaSuccess);
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("a range knows what lies in it, to its last byte, and where that is on each rank") {
  zero::gpu::memory const whole(1000, "whole");
  auto* const bytes = static_cast<std::byte*>(whole.get());
  peer_range const range(0, std::vector{peer_range::make_offer(bytes, 1000)});
  CHECK(range.error() == cudaSuccess);
  CHECK(range.address() == bytes);
  CHECK(range.holds(bytes, 1000));
  CHECK(range.holds(bytes + 999, 1));
  CHECK_FALSE(range.holds(bytes + 999, 2));
  CHECK_FALSE(range.holds(bytes - 1, 1));
  CHECK(range.at(0, bytes + 7) == bytes + 7);
}
