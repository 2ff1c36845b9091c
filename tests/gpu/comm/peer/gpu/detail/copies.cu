// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/peer/gpu/detail/copies.hpp>

#include <zero/core/error.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/device/gpu/memory.hpp>
#include <zero/device/gpu/stream.hpp>

#include <doctest/doctest.h>

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

// One rank, which meets nobody. What several processes do is in the test of the transport.

using namespace std::chrono_literals;
using zero::detail::peer_board;
using zero::detail::peer_copies;
using zero::detail::peer_range;

namespace {

struct board_of_one {
  std::string name = peer_board::new_name();
  peer_board board = peer_board::make(name, 0, 1);

  board_of_one() { peer_board::remove(name); }
};

}  // namespace

TEST_CASE("a rank alone gathers its own part") {
  board_of_one shared;
  peer_copies copies(shared.board, "zero::test");
  zero::gpu::stream const stream(zero::gpu::stream_priority::normal);
  zero::gpu::memory const memory(1024, "test");
  auto* const bytes = static_cast<std::byte*>(memory.get());
  copies.add(peer_range(0, std::vector{peer_range::make_offer(bytes, 1024)}));
  CHECK(copies.range_of(bytes, 1025) == nullptr);
  auto const* const range = copies.range_of(bytes, 1024);
  REQUIRE(range != nullptr);
  zero::check_cuda(cudaMemsetAsync(bytes, 7, 512, stream.get()), "cudaMemsetAsync");
  copies.all_gather(stream.get(), *range, bytes, bytes + 512, 512);
  CHECK_FALSE(copies.ended_within(0s));  // a meeting is open
  copies.close();
  CHECK(copies.ended_within(10s));
  std::vector<unsigned char> got(512);
  zero::check_cuda(cudaMemcpy(got.data(), bytes + 512, 512, cudaMemcpyDeviceToHost), "cudaMemcpy");
  CHECK(got == std::vector<unsigned char>(512, 7));
  copies.remove(bytes);
  CHECK(copies.range_of(bytes, 1) == nullptr);
}

TEST_CASE("the calls of a group are on one stream") {
  board_of_one shared;
  peer_copies copies(shared.board, "zero::test");
  zero::gpu::stream const one(zero::gpu::stream_priority::normal);
  zero::gpu::stream const two(zero::gpu::stream_priority::normal);
  copies.open(one.get());
  CHECK_NOTHROW(copies.open(one.get()));
  CHECK_THROWS_AS(copies.open(two.get()), zero::logic_error);
  copies.close();
  CHECK_NOTHROW(copies.open(two.get()));
  copies.close();
  CHECK(copies.ended_within(10s));
}
