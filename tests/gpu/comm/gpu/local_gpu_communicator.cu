// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/gpu/local_gpu_communicator.cuh>

#include "tests/gpu/device/gpu/spin.cuh"
#include "tests/laws/communicator.hpp"
#include "tests/support/capture.hpp"
#include "tests/support/gather_tag.hpp"
#include "tests/support/gpu_rank.hpp"
#include "tests/support/text.hpp"
#include "tests/support/wild.hpp"

#include <zero/comm/gpu/local_gpu.cuh>
#include <zero/comm/local.hpp>
#include <zero/device/gpu/graph.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using zero::local_gpu_communicator;
using zero::local_gpu_world;
using zero::test::contains;
using zero::test::gather_tag;

using rank_on_gpu = zero::test::gpu_rank<local_gpu_communicator>;

static_assert(zero::communicator<local_gpu_communicator>);
static_assert(std::is_nothrow_move_constructible_v<local_gpu_communicator>);
static_assert(std::is_nothrow_move_assignable_v<local_gpu_communicator>);
static_assert(!std::is_copy_constructible_v<local_gpu_communicator>);

namespace {

/// Runs `body(rank_on_gpu&)` on each rank of a world on one device.
template <class Body>
void on_ranks(int ranks, Body body, zero::local_gpu_options options = {}) {
  local_gpu_world::run(
      ranks,
      [&](local_gpu_communicator comm) {
        rank_on_gpu rank(std::move(comm));
        body(rank);
      },
      std::move(options));
}

template <class Body>
std::string error_of(Body body) {
  try {
    body();
  } catch (std::exception const& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the laws of communicators hold for local ranks that share a GPU") {
  for (int const ranks : {1, 2, 3, 5}) {
    CAPTURE(ranks);
    on_ranks(ranks, [](rank_on_gpu& rank) { zero::laws::communicator_laws(rank); });
  }
}

TEST_CASE_TEMPLATE(
    "sums on the GPU have the bits of sums on the host", W, float, zero::bf16, zero::fp16) {
  std::int64_t const shard = 5003;
  int const ranks = 3;
  for (double const prescale : {1.0, 1.0 / 3.0}) {
    std::vector<std::vector<W>> scattered(ranks);
    std::vector<std::vector<W>> reduced(ranks);
    zero::Local::run(ranks, [&](zero::local_communicator comm) {
      auto const r = static_cast<std::size_t>(comm.rank());
      scattered[r] = reduced[r] = zero::laws::contribution<W>(comm.rank(), shard * ranks, false, 9);
      comm.reduce_scatter(
          {}, gather_tag(1), scattered[r].data(), shard, zero::dtype_of<W>, prescale);
      comm.all_reduce({}, gather_tag(2), reduced[r].data(), shard * ranks, zero::dtype_of<W>);
    });
    std::atomic<std::size_t> differing{0};
    on_ranks(ranks, [&](rank_on_gpu& rank) {
      auto const r = static_cast<std::size_t>(rank.comm().rank());
      auto const mine = zero::laws::contribution<W>(rank.comm().rank(), shard * ranks, false, 9);
      W* const a = rank.upload(mine);
      W* const b = rank.upload(mine);
      rank.comm().reduce_scatter(
          rank.stream(), gather_tag(1), a, shard, zero::dtype_of<W>, prescale);
      rank.comm().all_reduce(rank.stream(), gather_tag(2), b, shard * ranks, zero::dtype_of<W>);
      auto const own = static_cast<std::int64_t>(r) * shard;
      auto const got = rank.download(a + own, shard);
      std::vector<W> const expected(scattered[r].begin() + own, scattered[r].begin() + own + shard);
      differing += zero::test::differences(got, expected);
      differing += zero::test::differences(rank.download(b, shard * ranks), reduced[r]);
    });
    CHECK(differing == 0);
  }
}

TEST_CASE("a call returns before the device has done anything") {
  std::atomic<int> early{0};
  on_ranks(2, [&](rank_on_gpu& rank) {
    std::vector<int> const mine(1, 40 + rank.comm().rank());
    int* const send = rank.upload(mine);
    int* const receive = rank.upload(std::vector<int>(2));
    zero::test::spin(rank.stream(), 300);
    for (std::uint64_t i = 1; i <= 20; ++i) {
      rank.comm().all_gather(rank.stream(), gather_tag(i), send, receive, sizeof(int));
    }
    early += cudaStreamQuery(rank.stream()) == cudaErrorNotReady ? 1 : 0;
    CHECK((rank.download(receive, 2) == std::vector<int>{40, 41}));
  });
  CHECK(early == 2);
}

TEST_CASE("what a rank writes before and after a call reaches nobody at the wrong time") {
  std::int64_t const n = 1 << 20;
  on_ranks(3, [&](rank_on_gpu& rank) {
    int const me = rank.comm().rank();
    auto* const send = rank.upload(std::vector<unsigned char>(n, 0xEE));
    auto* const receive = rank.upload(std::vector<unsigned char>(3 * n, 0xEE));
    std::size_t wrong = 0;
    for (int round = 0; round < 20; ++round) {
      if (round % 3 == me) {
        zero::test::spin(rank.stream(), 3);  // each rank is late now and then
      }
      auto const value = [&](int r) { return static_cast<unsigned char>(r * 20 + round); };
      zero::check_cuda(cudaMemsetAsync(send, value(me), n, rank.stream()), "cudaMemsetAsync");
      rank.comm().all_gather(
          rank.stream(), gather_tag(static_cast<std::uint64_t>(round) + 1), send, receive, n);
      zero::check_cuda(cudaMemsetAsync(send, 0xEE, n, rank.stream()), "cudaMemsetAsync");
      if (round % 5 == 4) {
        auto const got = rank.download(receive, 3 * n);
        for (int r = 0; r < 3; ++r) {
          wrong += got[static_cast<std::size_t>(r * n)] == value(r) ? 0 : 1;
          wrong += got[static_cast<std::size_t>((r + 1) * n - 1)] == value(r) ? 0 : 1;
        }
      }
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("a rank that throws makes the others fail within a second, with rank, step, unit") {
  auto const start = std::chrono::steady_clock::now();
  std::string told;
  auto const thrown = error_of([&] {
    on_ranks(2, [&](rank_on_gpu& rank) {
      if (rank.comm().rank() == 1) {
        throw std::runtime_error("the user's own exception");
      }
      int* const buffer = rank.upload(std::vector<int>(2));
      try {
        rank.comm().all_gather(rank.stream(), gather_tag(1), buffer, buffer, sizeof(int));
      } catch (zero::peer_error const& error) {
        told = error.what();
        throw;
      }
    });
  });
  CHECK(std::chrono::steady_clock::now() - start < 2s);
  CHECK(contains(thrown, "the user's own exception"));
  CHECK(contains(told, "rank 1"));
  CHECK(contains(told, "step 4"));
  CHECK(contains(told, "blocks.3"));
}

TEST_CASE("a rank that does not come is named after the limit") {
  auto const told = error_of([] {
    on_ranks(2,
             [](rank_on_gpu& rank) {
               int* const buffer = rank.upload(std::vector<int>(2));
               if (rank.comm().rank() == 0) {
                 rank.comm().all_gather(rank.stream(), gather_tag(1), buffer, buffer, sizeof(int));
               } else {
                 std::this_thread::sleep_for(1s);
               }
             },
             {.stall_limit = 200ms});
  });
  CHECK(contains(told, "rank 1 did not come to gather 'blocks.3' of step 4 within 200 ms"));
}

TEST_CASE("ranks that come to different calls are told") {
  auto const told = error_of([] {
    on_ranks(2, [](rank_on_gpu& rank) {
      int* const buffer = rank.upload(std::vector<int>(2));
      rank.comm().all_gather(
          rank.stream(), gather_tag(1, 4 + rank.comm().rank()), buffer, buffer, sizeof(int));
    });
  });
  CHECK(contains(told, "all ranks must make the same calls in the same order"));
}

TEST_CASE("a call of CUDA that fails makes all ranks fail") {
  auto const told = error_of([] {
    on_ranks(2, [](rank_on_gpu& rank) {
      int* const buffer = rank.upload(std::vector<int>(2));
      rank.comm().broadcast(
          rank.stream(), gather_tag(1), rank.comm().rank() == 1 ? nullptr : buffer, sizeof(int), 0);
    });
  });
  CHECK(contains(told, "cudaMemcpyAsync"));
}

TEST_CASE("duplicates are worlds of their own") {
  on_ranks(2, [](rank_on_gpu& rank) {
    int* const send = rank.upload(std::vector<int>(1, rank.comm().rank()));
    int* const receive = rank.upload(std::vector<int>(2));
    auto other = rank.comm().duplicate();
    other.all_gather(rank.stream(), gather_tag(1), send, receive, sizeof(int));
    rank.comm().all_gather(rank.stream(), gather_tag(5), send, receive, sizeof(int));
    CHECK((rank.download(receive, 2) == std::vector<int>{0, 1}));
  });
}

TEST_CASE("a world of one can be captured") {
  on_ranks(1, [](rank_on_gpu& rank) {
    int* const send = rank.upload(std::vector<int>(1, 17));
    int* const receive = rank.upload(std::vector<int>(1));
    zero::gpu::graph const graph = zero::test::capture(rank.stream(), [&] {
      rank.comm().all_gather(rank.stream(), gather_tag(1), send, receive, sizeof(int));
      rank.comm().all_reduce(rank.stream(), gather_tag(2), receive, 1, zero::dtype::fp32);
    });
    graph.launch(rank.stream());
    CHECK((rank.download(receive, 1) == std::vector<int>{17}));
  });
}
