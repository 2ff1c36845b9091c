// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/nccl/detail/watched_stream.hpp>

#include "tests/gpu/device/gpu/spin.cuh"

#include <zero/device/gpu/error.hpp>
#include <zero/device/gpu/stream.hpp>

#include <doctest/doctest.h>

#include <cuda_runtime_api.h>

#include <chrono>

using namespace std::chrono_literals;
using zero::collective;
using zero::detail::local_place;
using zero::detail::operation_ring;
using zero::detail::watched_stream;

TEST_CASE("an operation is seen to begin, to be late and to end; a graph is told apart") {
  zero::gpu::stream const stream(zero::gpu::stream_priority::normal);
  watched_stream watched;
  local_place last;
  CHECK(watched.oldest() == nullptr);
  CHECK_FALSE(watched.oldest_is_graph());

  for (bool const graph : {false, true}) {
    CAPTURE(graph);
    std::int64_t const step = graph ? 8 : 7;
    watched.begin(stream.get(), {.step = step}, collective::all_gather, graph);
    CHECK(watched.oldest() == nullptr);  // nobody sees it before its end is marked
    zero::test::spin(stream.get(), 300);
    watched.end(stream.get());
    REQUIRE(watched.oldest() != nullptr);
    CHECK(watched.oldest()->tag.step == step);
    CHECK(watched.oldest_is_graph() == graph);

    auto const now = operation_ring::clock::now();
    CHECK(watched.overdue(now, 1s, last) == nullptr);
    CHECK(watched.overdue(now + 2s, 1s, last) != nullptr);
    zero::check_cuda(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
    CHECK(watched.overdue(now + 3s, 1s, last) == nullptr);
    CHECK(watched.oldest() == nullptr);
    CHECK(last.tag.step == step);
  }
}
