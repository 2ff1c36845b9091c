// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/nccl/communicator.hpp>

#include "tests/gpu/device/gpu/spin.cuh"
#include "tests/laws/communicator.hpp"
#include "tests/support/capture.hpp"
#include "tests/support/gather_tag.hpp"
#include "tests/support/gpu_rank.hpp"
#include "tests/support/processes.hpp"
#include "tests/support/text.hpp"

#include <zero/comm/nccl/memory.hpp>
#include <zero/comm/nccl/nccl.hpp>
#include <zero/core/rank_order.hpp>
#include <zero/device/gpu/graph.hpp>

#include <doctest/doctest.h>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using zero::Nccl;
using zero::nccl_communicator;
using zero::test::contains;
using zero::test::gather_tag;
using zero::test::is_worker;
using zero::test::run_workers;
using zero::test::worker_passed;

using rank_on_gpu = zero::test::gpu_rank<nccl_communicator>;

static_assert(zero::communicator<nccl_communicator>);
static_assert(std::is_nothrow_move_constructible_v<nccl_communicator>);
static_assert(std::is_nothrow_move_assignable_v<nccl_communicator>);
static_assert(!std::is_copy_constructible_v<nccl_communicator>);

namespace {

/// With `nccl_registration::peers` all that is uploaded is known to the other ranks.
rank_on_gpu make_rank(zero::nccl_options options = {}) {
  if (options.limit == zero::nccl_options{}.limit) {
    options.limit = 60s;
  }
  options.warm_up_bytes = 1 << 20;
  return rank_on_gpu(Nccl::from_environment(options),
                     options.registration == zero::nccl_registration::peers);
}

/// Every rank's number reaches every rank; returns whether it did.
bool gathers(rank_on_gpu& rank, nccl_communicator& comm) {
  std::vector<int> expected;
  for (int i = 0; i < comm.size(); ++i) {
    expected.push_back(i);
  }
  int* const send = rank.upload(std::vector<int>(1, comm.rank()));
  int* const receive = rank.upload(std::vector<int>(expected.size()));
  comm.all_gather(rank.stream(), gather_tag(1), send, receive, sizeof(int));
  return rank.download(receive, comm.size()) == expected;
}

/// Gathers, waits for the device, and returns what the communicator then says.
std::string error_of_gather(rank_on_gpu& rank) {
  try {
    int* const buffer = rank.upload(std::vector<int>(static_cast<std::size_t>(rank.comm().size())));
    rank.comm().all_gather(
        rank.stream(), gather_tag(1), buffer + rank.comm().rank(), buffer, sizeof(int));
    static_cast<void>(cudaStreamSynchronize(rank.stream()));
    rank.comm().check();
  } catch (std::exception const& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("worker: laws" * doctest::skip(!is_worker())) {
  auto rank = make_rank();
  CHECK(rank.comm().counters() == zero::traffic{});  // warming up is not counted
  zero::laws::communicator_laws(rank);
  worker_passed();
}

TEST_CASE("worker: laws without blocking calls" * doctest::skip(!is_worker())) {
  auto rank = make_rank({.blocking = false});
  zero::laws::communicator_laws(rank);
  worker_passed();
}

TEST_CASE("worker: laws with few blocks" * doctest::skip(!is_worker())) {
  auto rank = make_rank({.min_ctas = 1, .max_ctas = 2});
  zero::laws::communicator_laws(rank);
  worker_passed();
}

TEST_CASE("worker: duplicates" * doctest::skip(!is_worker())) {
  auto rank = make_rank();
  auto one = rank.comm().duplicate();
  auto two = rank.comm().duplicate();
  CHECK(one.handle() != two.handle());
  CHECK(gathers(rank, two));
  CHECK(gathers(rank, one));
  CHECK(gathers(rank, rank.comm()));
  auto moved = std::move(one);
  one = std::move(two);
  CHECK(gathers(rank, one));
  CHECK(gathers(rank, moved));
  worker_passed();
}

/// Captures one call of each kind and replays the graph.
static void check_capture(rank_on_gpu& rank) {
  auto& comm = rank.comm();
  int const ranks = comm.size();
  std::int64_t const n = 1000;
  auto* const send = rank.upload(std::vector<float>(n * ranks));
  auto* const sums = rank.upload(std::vector<float>(n * ranks));
  auto* const received = rank.upload(std::vector<float>(n * ranks));
  auto const calls = [&] {
    std::this_thread::sleep_for(100ms);  // the watchdog looks several times in the meantime
    comm.all_to_others(rank.stream(), gather_tag(1), send, n * 4, received, n * 4);
    comm.reduce_scatter(rank.stream(), gather_tag(2), sums, n, zero::dtype::fp32, 0.5);
    comm.all_gather(rank.stream(), gather_tag(3), sums + comm.rank() * n, sums, n * 4);
  };
  {
    zero::gpu::graph const graph =
        zero::test::capture(rank.stream(), calls, cudaStreamCaptureModeGlobal);
    for (int replay = 1; replay <= 3; ++replay) {
      std::vector<float> const mine(static_cast<std::size_t>(n * ranks),
                                    static_cast<float>(replay * (comm.rank() + 1)));
      for (auto* const buffer : {send, sums}) {
        zero::check_cuda(
            cudaMemcpyAsync(
                buffer, mine.data(), mine.size() * 4, cudaMemcpyHostToDevice, rank.stream()),
            "cudaMemcpyAsync");
      }
      comm.begin_watch(rank.stream(), gather_tag(4));
      graph.launch(rank.stream());
      comm.end_watch(rank.stream());
      auto const got = rank.download(received, n * (ranks - 1));
      auto const total = rank.download(sums, n * ranks);
      bool right = true;
      for (int from = 0; from < ranks; ++from) {
        if (from != comm.rank()) {
          auto const first = got.begin() + zero::place_among_others(from, comm.rank()) * n;
          right =
              right && std::count(first, first + n, static_cast<float>(replay * (from + 1))) == n;
        }
      }
      for (std::size_t i = 0; i < total.size(); ++i) {
        right = right && total[i] == 0.5F * static_cast<float>(replay * ranks * (ranks + 1) / 2);
      }
      CHECK(right);
    }
  }
  comm.check();
}

TEST_CASE("worker: capture" * doctest::skip(!is_worker())) {
  auto rank = make_rank();
  check_capture(rank);
  worker_passed();
}

TEST_CASE("worker: capture with peers" * doctest::skip(!is_worker())) {
  auto rank = make_rank({.registration = zero::nccl_registration::peers});
  check_capture(rank);
  worker_passed();
}

TEST_CASE("worker: the host runs ahead" * doctest::skip(!is_worker())) {
  auto rank = make_rank();
  auto& comm = rank.comm();
  auto* const buffer = rank.upload(std::vector<int>(static_cast<std::size_t>(comm.size()), 7));
  zero::test::spin(rank.stream(), 500);
  for (std::uint64_t i = 1; i <= 20; ++i) {
    comm.all_gather(rank.stream(), gather_tag(i), buffer + comm.rank(), buffer, sizeof(int));
  }
  CHECK(cudaStreamQuery(rank.stream()) == cudaErrorNotReady);
  zero::check_cuda(cudaStreamSynchronize(rank.stream()), "cudaStreamSynchronize");
  worker_passed();
}

TEST_CASE("worker: a late start is no stall" * doctest::skip(!is_worker())) {
  auto rank = make_rank({.limit = 1500ms});
  zero::test::spin(rank.stream(), 4000);  // longer than the limit, on all ranks
  CHECK(error_of_gather(rank) == "");
  worker_passed();
}

static void check_no_memory_is_taken(rank_on_gpu& rank) {
  auto& comm = rank.comm();
  std::int64_t const n = 1 << 18;
  auto* const buffer = rank.upload(std::vector<float>(static_cast<std::size_t>(n * comm.size())));
  auto* const other = rank.upload(std::vector<float>(static_cast<std::size_t>(n * comm.size())));
  auto const round = [&] {
    comm.begin_group();
    comm.all_gather(rank.stream(), gather_tag(1), buffer + comm.rank() * n, buffer, n * 4);
    comm.all_gather(rank.stream(), gather_tag(2), other + comm.rank() * n, other, n * 4);
    comm.end_group();
    comm.all_to_others(rank.stream(), gather_tag(3), buffer, n * 4, other, n * 4);
    comm.reduce_scatter(rank.stream(), gather_tag(4), buffer, n, zero::dtype::fp32, 0.5);
    comm.all_reduce(rank.stream(), gather_tag(5), buffer, n, zero::dtype::fp32);
    zero::check_cuda(cudaStreamSynchronize(rank.stream()), "cudaStreamSynchronize");
  };
  std::size_t before = 0;
  std::size_t after = 0;
  std::size_t all = 0;
  round();  // all ranks are here now, and none takes memory any more
  zero::check_cuda(cudaMemGetInfo(&before, &all), "cudaMemGetInfo");
  for (int i = 0; i < 30; ++i) {
    round();
  }
  zero::check_cuda(cudaMemGetInfo(&after, &all), "cudaMemGetInfo");
  round();  // nobody gives memory back before all have looked
  CHECK(after == before);
}

TEST_CASE("worker: no memory is taken after construction" * doctest::skip(!is_worker())) {
  auto rank = make_rank();
  check_no_memory_is_taken(rank);
  worker_passed();
}

TEST_CASE("worker: no memory is taken with peers" * doctest::skip(!is_worker())) {
  auto rank = make_rank({.registration = zero::nccl_registration::peers});
  check_no_memory_is_taken(rank);
  worker_passed();
}

TEST_CASE("worker: registered memory" * doctest::skip(!is_worker())) {
  auto const features = zero::detail::nccl_features::of_library();
  for (auto const kind : {zero::nccl_registration::none,
                          zero::nccl_registration::buffer,
                          zero::nccl_registration::symmetric}) {
    if ((kind == zero::nccl_registration::buffer && !features.registration) ||
        (kind == zero::nccl_registration::symmetric && !features.windows)) {
      CHECK_THROWS_AS(static_cast<void>(make_rank({.registration = kind})), zero::logic_error);
      continue;
    }
    zero::gpu::allocator const source =
        features.memory ? zero::nccl_allocator() : zero::gpu::allocator{};
    std::int64_t const n = 1 << 20;
    zero::gpu::memory const buffer(n * 8, "registered", source);
    auto rank = make_rank({.registration = kind});
    auto& comm = rank.comm();
    comm.register_memory(buffer.get(), buffer.size());
    auto* const bytes = static_cast<std::byte*>(buffer.get());
    zero::check_cuda(cudaMemsetAsync(bytes + comm.rank() * n, comm.rank() + 1, n, rank.stream()),
                     "cudaMemsetAsync");
    comm.all_gather(rank.stream(), gather_tag(1), bytes + comm.rank() * n, bytes, n);
    auto const got = rank.download(bytes, n * comm.size());
    bool right = true;
    for (std::size_t i = 0; i < got.size(); i += 4099) {
      right = right && got[i] == static_cast<std::byte>(i / n + 1);
    }
    CHECK(right);
    zero::check_cuda(cudaStreamSynchronize(rank.stream()), "cudaStreamSynchronize");
    comm.deregister_memory(buffer.get());
    CHECK(gathers(rank, comm));
  }
  worker_passed();
}

TEST_CASE("worker: a rank that stalls" * doctest::skip(!is_worker())) {
  auto rank = make_rank({.limit = 3s});
  if (rank.comm().rank() == 1) {
    std::this_thread::sleep_for(8s);
  } else {
    auto const start = std::chrono::steady_clock::now();
    std::string const told = error_of_gather(rank);
    CHECK(contains(told, "rank " + std::to_string(rank.comm().rank()) + "'s gather 'blocks.3'"));
    CHECK(contains(told, "step 4"));
    CHECK(contains(told, "within 3 s"));
    CHECK(std::chrono::steady_clock::now() - start < 7s);
    CHECK_THROWS_AS(rank.comm().check(), zero::peer_error);
    CHECK_THROWS_AS(rank.comm().begin_group(), zero::peer_error);
  }
  worker_passed();
}

TEST_CASE("worker: a rank that has left" * doctest::skip(!is_worker())) {
  auto rank = make_rank({.limit = 3s});
  if (rank.comm().rank() == 1) {
    rank.comm().leave();
    CHECK(contains(error_of_gather(rank), "has left"));
  } else {
    CHECK(error_of_gather(rank) != "");  // by the limit, or by a connection that broke before
  }
  worker_passed();
}

TEST_CASE("worker: a rank that aborts" * doctest::skip(!is_worker())) {
  auto rank = make_rank({.limit = 3s});
  if (rank.comm().rank() == 0) {
    int* const buffer = rank.upload(std::vector<int>(8));
    rank.comm().all_gather(
        rank.stream(), gather_tag(1), buffer, buffer, sizeof(int));  // nobody comes
    rank.comm().abort("the user's reason");
    static_cast<void>(cudaStreamSynchronize(rank.stream()));  // ends, because of the abort
    CHECK(contains(error_of_gather(rank), "the user's reason"));
  } else {
    std::this_thread::sleep_for(1s);
    // The first gather may have got what rank 0 sent before it aborted; the second cannot.
    std::string const first = error_of_gather(rank);
    CHECK((first != "" || error_of_gather(rank) != ""));
  }
  worker_passed();
}

TEST_CASE("worker: an error in a group" * doctest::skip(!is_worker())) {
  auto rank = make_rank({.limit = 3s});
  auto& comm = rank.comm();
  int* const buffer = rank.upload(std::vector<int>(8));
  comm.begin_group();
  comm.begin_group();
  comm.all_gather(rank.stream(), gather_tag(1), buffer + comm.rank(), buffer, sizeof(int));
  comm.leave();
  CHECK_THROWS_AS(
      comm.all_gather(rank.stream(), gather_tag(2), buffer + comm.rank(), buffer, sizeof(int)),
      zero::logic_error);
  CHECK_THROWS_AS(comm.end_group(), zero::logic_error);  // the group has ended with the error
  static_cast<void>(cudaStreamSynchronize(rank.stream()));
  CHECK_THROWS_AS(comm.check(), zero::logic_error);
  worker_passed();
}

TEST_CASE("the laws of communicators hold for NCCL") {
  for (int const n : {1, 2, 4}) {
    CAPTURE(n);
    CHECK(run_workers("worker: laws", n));
  }
}

TEST_CASE("the laws of communicators hold for NCCL, one GPU each") {
  int count = 0;
  zero::check_cuda(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  if (count >= 2) {
    CHECK(run_workers("worker: laws", count, true));
    CHECK(run_workers("worker: registered memory", count, true));
    CHECK(run_workers("worker: capture", count, true));
    CHECK(run_workers("worker: capture with peers", count, true));
    CHECK(run_workers("worker: a rank that stalls", count, true));
  }
}

TEST_CASE("the laws of communicators hold for NCCL without blocking calls") {
  CHECK(run_workers("worker: laws without blocking calls", 2));
}

TEST_CASE("the laws of communicators hold for NCCL with few blocks") {
  CHECK(run_workers("worker: laws with few blocks", 2));
}

TEST_CASE("NCCL communicators are duplicated and moved") {
  CHECK(run_workers("worker: duplicates", 2));
}

TEST_CASE("NCCL's collectives are captured, the watchdog looking, and replayed") {
  CHECK(run_workers("worker: capture", 1));
  CHECK(run_workers("worker: capture", 2));
  CHECK(run_workers("worker: capture with peers", 2));
}

TEST_CASE("NCCL's calls return before the device has done anything") {
  CHECK(run_workers("worker: the host runs ahead", 2));
}

TEST_CASE("work before a collective does not count as its time") {
  CHECK(run_workers("worker: a late start is no stall", 2));
}

TEST_CASE("NCCL takes no device memory after construction") {
  CHECK(run_workers("worker: no memory is taken after construction", 2));
  CHECK(run_workers("worker: no memory is taken with peers", 2));
}

TEST_CASE("NCCL gathers in memory it knows") {
  CHECK(run_workers("worker: registered memory", 2));
}

TEST_CASE("a rank that stalls is noticed by the others, within the limit") {
  CHECK(run_workers("worker: a rank that stalls", 2));
  CHECK(run_workers("worker: a rank that stalls", 3));
}

TEST_CASE("a rank that has left is noticed by the others") {
  CHECK(run_workers("worker: a rank that has left", 2));
}

TEST_CASE("a rank that aborts is not stuck in its kernel, nor are the others") {
  CHECK(run_workers("worker: a rank that aborts", 2));
}

TEST_CASE("an error in a group closes it") {
  CHECK(run_workers("worker: an error in a group", 2));
}
