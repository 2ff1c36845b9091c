// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/peer/gpu/communicator.hpp>

#include "tests/laws/communicator.hpp"
#include "tests/support/file_base.hpp"
#include "tests/support/gather_tag.hpp"
#include "tests/support/gpu_rank.hpp"
#include "tests/support/processes.hpp"
#include "tests/support/text.hpp"

#include <zero/core/error.hpp>
#include <zero/device/gpu/kernels.cuh>
#include <zero/device/gpu/memory.hpp>

#include <doctest/doctest.h>

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

using namespace std::chrono_literals;
using zero::test::contains;
using zero::test::gather_tag;
using zero::test::is_worker;
using zero::test::worker_passed;

using communicator = zero::peer_communicator<zero::test::file_base>;
using rank_on_gpu = zero::test::gpu_rank<communicator>;

static_assert(zero::communicator<communicator>);
static_assert(std::is_nothrow_move_constructible_v<communicator>);
static_assert(std::is_nothrow_move_assignable_v<communicator>);

namespace {

rank_on_gpu make_rank() {
  return rank_on_gpu(communicator({.shares = true, .reading_bytes = 1 << 20}), true);
}

/// Gathers in known memory, waits for the device, and returns what the communicator then says.
std::string error_of_gather(rank_on_gpu& rank, int* buffer) {
  try {
    rank.comm().all_gather(
        rank.stream(), gather_tag(1), buffer + rank.comm().rank(), buffer, sizeof(int));
    zero::check_cuda(cudaStreamSynchronize(rank.stream()), "cudaStreamSynchronize");
    rank.comm().check();
  } catch (std::exception const& error) {
    return error.what();
  }
  return "";
}

/// As `run_workers`, with a folder for the bytes.
bool run_workers(std::string const& test_case, int n) {
  std::string folder = std::filesystem::temp_directory_path() / "zero-bytes-XXXXXX";
  zero::precondition(::mkdtemp(folder.data()) != nullptr, "no temporary directory");
  ::setenv("ZERO_TEST_BYTES", folder.c_str(), 1);
  bool const passed = zero::test::run_workers(test_case, n);
  std::filesystem::remove_all(folder);
  return passed;
}

}  // namespace

TEST_CASE("worker: laws over a base of files" * doctest::skip(!is_worker())) {
  auto rank = make_rank();
  zero::laws::communicator_laws(rank);
  worker_passed();
}

TEST_CASE("worker: sums over a base of files" * doctest::skip(!is_worker())) {
  auto rank = make_rank();
  auto& comm = rank.comm();
  int const ranks = comm.size();
  std::int64_t const n = 100'000;
  std::vector<float> const mine(static_cast<std::size_t>(ranks * n),
                                static_cast<float>(comm.rank() + 1));
  auto* const own = rank.upload(mine) + comm.rank() * n;
  auto* const sums = rank.upload(std::vector<float>(static_cast<std::size_t>(n)));
  zero::gpu::memory const unknown(4096, "unknown");
  CHECK(comm.reads_others(own, n * 4));
  CHECK_FALSE(comm.reads_others(own, (1 << 20) + 1));
  CHECK_FALSE(comm.reads_others(own, 0));
  CHECK_FALSE(comm.reads_others(unknown.get(), 4096));
  auto const before = comm.counters();
  comm.read_others(rank.stream(), gather_tag(1), own, n * 4, false, [&](auto const& reading) {
    zero::gpu_kernels::sum_of_peers<float, float>(rank.stream(), reading, sums, n, false, nullptr);
  });
  auto const expected = static_cast<float>(ranks * (ranks + 1) / 2);
  bool const right =
      rank.download(sums, n) == std::vector<float>(static_cast<std::size_t>(n), expected);
  CHECK(right);
  CHECK((comm.counters() - before)[zero::collective::all_to_others] ==
        zero::traffic::entry{1, (ranks - 1) * n * 4});
  if (comm.rank() == 0) {  // which makes it fail: the others have nothing more to ask
    comm.begin_group();
    CHECK_THROWS_AS(
        comm.read_others(rank.stream(), gather_tag(2), own, n * 4, false, [](auto const&) {}),
        zero::logic_error);
  }
  worker_passed();
}

TEST_CASE("worker: a rank that aborts over a base of files" * doctest::skip(!is_worker())) {
  auto rank = make_rank();
  auto* const buffer = rank.upload(std::vector<int>(static_cast<std::size_t>(rank.comm().size())));
  CHECK(error_of_gather(rank, buffer) == "");
  if (rank.comm().rank() == 0) {
    std::this_thread::sleep_for(500ms);
    rank.comm().abort("the user's reason");
    CHECK(contains(error_of_gather(rank, buffer), "the user's reason"));
  } else {
    CHECK(contains(error_of_gather(rank, buffer), "rank 0 has failed: the user's reason"));
    CHECK_THROWS_AS(rank.comm().check(), zero::peer_error);
  }
  worker_passed();
}

TEST_CASE("the laws of communicators hold for ranks that share memory over any base") {
  for (int const n : {1, 2, 3}) {
    CAPTURE(n);
    CHECK(run_workers("worker: laws over a base of files", n));
  }
  CHECK(run_workers("worker: sums over a base of files", 2));
}

TEST_CASE("ranks that share memory hear of failures over any base") {
  CHECK(run_workers("worker: a rank that aborts over a base of files", 3));
}
