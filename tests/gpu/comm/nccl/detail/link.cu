// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/nccl/detail/link.hpp>

#include "tests/gpu/device/gpu/spin.cuh"
#include "tests/laws/communicator.hpp"
#include "tests/support/capture.hpp"
#include "tests/support/gather_tag.hpp"
#include "tests/support/gpu_rank.hpp"
#include "tests/support/lone_nccl.hpp"
#include "tests/support/processes.hpp"
#include "tests/support/text.hpp"
#include "tests/support/wild.hpp"

#include <zero/comm/nccl/memory.hpp>
#include <zero/comm/nccl/nccl.hpp>
#include <zero/core/norm.hpp>
#include <zero/core/rank_order.hpp>
#include <zero/device/gpu/graph.hpp>
#include <zero/device/gpu/kernels.cuh>
#include <zero/device/gpu/stream.hpp>

#include <doctest/doctest.h>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using zero::Nccl;
using zero::nccl_communicator;
using zero::detail::nccl_link;
using zero::test::contains;
using zero::test::gather_tag;
using zero::test::is_worker;
using zero::test::run_workers;
using zero::test::worker_passed;

using rank_on_gpu = zero::test::gpu_rank<nccl_communicator>;

namespace {

rank_on_gpu make_rank(std::chrono::milliseconds limit = 60s) {
  zero::nccl_options options;
  options.limit = limit;
  options.registration = zero::nccl_registration::peers;
  options.warm_up_bytes = 1 << 20;
  return rank_on_gpu(Nccl::from_environment(options), true);
}

/// Gathers in known memory, waits for the device, and returns what the communicator then says.
std::string error_of_gather(rank_on_gpu& rank, int* buffer, std::int64_t step = 4) {
  try {
    rank.comm().all_gather(
        rank.stream(), gather_tag(1, step), buffer + rank.comm().rank(), buffer, sizeof(int));
    zero::check_cuda(cudaStreamSynchronize(rank.stream()), "cudaStreamSynchronize");
    rank.comm().check();
  } catch (std::exception const& error) {
    return error.what();
  }
  return "";
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

namespace {

zero::nccl_options const quick{.warm_up_bytes = 0};

}  // namespace

TEST_CASE("warming up ends with nothing in flight") {
  nccl_link link(zero::test::lone_nccl(), true, quick);
  CHECK_FALSE(link.failed());
  link.finish();
}

TEST_CASE("what a part of the construction throws goes on, and the link has closed") {
  nccl_link link(zero::test::lone_nccl(), true, quick);
  CHECK_THROWS_AS(link.set_up([] { throw zero::logic_error("cannot be"); }), zero::logic_error);
  CHECK(link.failed());
  CHECK(link.handle.get() == nullptr);
  link.close();
}

// --- ranks that share memory -------------------------------------------------------------------

TEST_CASE("worker: laws with peers" * doctest::skip(!is_worker())) {
  auto rank = make_rank();
  zero::laws::communicator_laws(rank);
  worker_passed();
}

TEST_CASE("worker: late ranks" * doctest::skip(!is_worker())) {
  auto rank = make_rank();
  auto& comm = rank.comm();
  int const ranks = comm.size();
  std::int64_t const n = 1 << 20;
  auto* const send = rank.upload(std::vector<unsigned char>(ranks * n, 0xEE));
  auto* const receive = rank.upload(std::vector<unsigned char>(ranks * n, 0xEE));
  auto* const seen = rank.upload(std::vector<unsigned char>(ranks * n));
  std::size_t wrong = 0;
  for (int round = 0; round < 24; ++round) {
    auto const value = [&](int r) { return static_cast<unsigned char>(r * 24 + round); };
    auto const late = [&](int turn) {
      if (turn % ranks == comm.rank()) {
        zero::test::spin(rank.stream(), 3);
      }
    };
    late(round);  // whoever is late has not written yet what the others want
    zero::check_cuda(
        cudaMemsetAsync(
            send, value(comm.rank()), static_cast<std::size_t>(ranks * n), rank.stream()),
        "cudaMemsetAsync");
    auto const sequence = static_cast<std::uint64_t>(round) + 1;
    bool const gather = round % 2 == 0;
    if (gather) {
      comm.all_gather(rank.stream(), gather_tag(sequence), send, receive, n);
    } else {
      comm.all_to_others(rank.stream(), gather_tag(sequence), send, n, receive, n);
    }
    zero::check_cuda(
        cudaMemsetAsync(send, 0xEE, static_cast<std::size_t>(ranks * n), rank.stream()),
        "cudaMemsetAsync");
    late(round + 1);  // whoever is late has not read yet what came
    auto const parts = gather ? ranks : ranks - 1;
    zero::check_cuda(cudaMemcpyAsync(seen,
                                     receive,
                                     static_cast<std::size_t>(parts * n),
                                     cudaMemcpyDeviceToDevice,
                                     rank.stream()),
                     "cudaMemcpyAsync");
    if (round % 4 >= 2) {
      auto const got = rank.download(seen, parts * n);
      for (int r = 0; r < ranks; ++r) {
        if (gather || r != comm.rank()) {
          auto const at = n * (gather ? r : zero::place_among_others(r, comm.rank()));
          for (std::int64_t i = 0; i < n; i += 4097) {
            wrong += got[static_cast<std::size_t>(at + i)] == value(r) ? 0 : 1;
          }
        }
      }
    }
  }
  CHECK(wrong == 0);
  worker_passed();
}

TEST_CASE("worker: groups with peers" * doctest::skip(!is_worker())) {
  auto rank = make_rank();
  auto& comm = rank.comm();
  int const ranks = comm.size();
  auto const blank = std::vector<int>(static_cast<std::size_t>(ranks), -1);
  auto* const send = rank.upload(std::vector<int>(1, comm.rank()));
  auto* const first = rank.upload(blank);
  auto* const second = rank.upload(blank);
  zero::gpu::memory const unknown(256, "unknown");
  auto* const third = static_cast<int*>(unknown.get());
  comm.begin_group();
  comm.all_gather(rank.stream(), gather_tag(1), send, first, sizeof(int));
  comm.begin_group();
  comm.all_gather(rank.stream(), gather_tag(2), send, third, sizeof(int));  // NCCL's
  comm.end_group();
  comm.all_gather(rank.stream(), gather_tag(3), send, second, sizeof(int));
  comm.end_group();
  for (int* const buffer : {first, second, third}) {
    auto const got = rank.download(buffer, ranks);
    for (int r = 0; r < ranks; ++r) {
      CHECK(got[static_cast<std::size_t>(r)] == r);
    }
  }
  worker_passed();
}

namespace {

/// Gradients that every rank can name.
std::vector<zero::bf16> gradients(int rank, std::int64_t n, std::uint64_t round) {
  zero::test::wild_numbers source(round * 100 + static_cast<std::uint64_t>(rank));
  return source.vector<zero::bf16>(n);
}

}  // namespace

TEST_CASE("worker: sums that read the others" * doctest::skip(!is_worker())) {
  auto rank = make_rank();
  auto& comm = rank.comm();
  int const ranks = comm.size();
  // Not a block, some blocks, batches of them with a tail, more than all thread blocks do at once.
  std::uint64_t sequence = 0;
  for (std::int64_t const n : {std::int64_t{1},
                               std::int64_t{2047},
                               std::int64_t{2048},
                               std::int64_t{8 * 2048 + 5},
                               std::int64_t{700'000},
                               std::int64_t{3'000'000}}) {  // the stream waits, not the kernel
    std::int64_t const padded = (n + 255) / 256 * 256;
    auto* const slot = rank.upload(gradients(comm.rank(), padded * ranks, 1));
    auto* const received = rank.upload(
        std::vector<zero::bf16>(static_cast<std::size_t>(padded * std::max(ranks - 1, 1))));
    auto const old = std::vector<float>(static_cast<std::size_t>(padded), 0.25F);
    auto const blank = std::vector<double>(static_cast<std::size_t>(zero::norm_blocks(n)), -1.0);
    for (bool const add : {false, true}) {
      auto* const sum = rank.upload(old);
      auto* const sum_of_peers = rank.upload(old);
      auto* const squares = rank.upload(blank);
      auto* const squares_of_peers = rank.upload(blank);
      auto* const own = slot + comm.rank() * padded;
      comm.all_to_others(
          rank.stream(), gather_tag(++sequence), slot, padded * 2, received, padded * 2);
      zero::gpu_kernels::sum<zero::bf16, float>(
          rank.stream(), own, received, padded, comm.rank(), ranks, sum, n, add, squares);
      CHECK(comm.reads_others(own, n * 2) == (ranks > 1));
      if (ranks == 1) {
        continue;
      }
      comm.read_others(
          rank.stream(), gather_tag(++sequence), own, n * 2, add, [&](auto const& reading) {
            zero::gpu_kernels::sum_of_peers<zero::bf16, float>(
                rank.stream(), reading, sum_of_peers, n, add, squares_of_peers);
          });
      bool const equal = rank.download(sum, padded) == rank.download(sum_of_peers, padded);
      bool const norms = rank.download(squares, zero::norm_blocks(n)) ==
                         rank.download(squares_of_peers, zero::norm_blocks(n));
      CAPTURE(n);
      CAPTURE(add);
      CHECK(equal);
      CHECK(norms);
    }
  }
  worker_passed();
}

static void check_late_ranks(rank_on_gpu& rank, std::int64_t n) {
  auto& comm = rank.comm();
  int const ranks = comm.size();
  auto* const slot = rank.upload(std::vector<float>(static_cast<std::size_t>(ranks * n)));
  auto* const sums = rank.upload(std::vector<float>(static_cast<std::size_t>(n)));
  auto const read = [&] {
    comm.read_others(rank.stream(),
                     gather_tag(1),
                     slot + comm.rank() * n,
                     n * 4,
                     false,
                     [&](auto const& reading) {
                       zero::gpu_kernels::sum_of_peers<float, float>(
                           rank.stream(), reading, sums, n, true, nullptr);
                     });
  };
  std::int64_t wrong = 0;
  float expected = 0;
  auto const round = [&](int number, auto&& sum) {
    auto const late = [&](int turn) {
      if (turn % ranks == comm.rank()) {
        zero::test::spin(rank.stream(), 3);
      }
    };
    // Rank r brings number * 64 + r. Whoever is late has not written yet what the others want.
    late(number);
    std::vector<float> const mine(static_cast<std::size_t>(ranks * n),
                                  static_cast<float>(number * 64 + comm.rank()));
    zero::check_cuda(
        cudaMemcpyAsync(slot, mine.data(), mine.size() * 4, cudaMemcpyHostToDevice, rank.stream()),
        "cudaMemcpyAsync");
    sum();
    // Nobody may overwrite what a late one still reads.
    zero::check_cuda(cudaMemsetAsync(slot, 0xFF, mine.size() * 4, rank.stream()),
                     "cudaMemsetAsync");
    expected += static_cast<float>(number * 64 * ranks + ranks * (ranks - 1) / 2);
    for (float const got : rank.download(sums, n)) {
      wrong += got == expected ? 0 : 1;
    }
  };
  for (int number = 1; number <= 12; ++number) {
    round(number, read);
  }
  // A graph may replay it.
  {
    zero::gpu::graph const graph =
        zero::test::capture(rank.stream(), read, cudaStreamCaptureModeGlobal);
    for (int number = 1; number <= 6; ++number) {
      round(number, [&] { graph.launch(rank.stream()); });
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("worker: sums with late ranks" * doctest::skip(!is_worker())) {
  auto rank = make_rank();
  check_late_ranks(rank, 100'000);
  check_late_ranks(rank, 1'500'000);  // 6 MB: the stream waits, not the kernel
  worker_passed();
}

TEST_CASE("worker: a sum without a peer" * doctest::skip(!is_worker())) {
  auto rank = make_rank(5s);
  auto& comm = rank.comm();
  auto* const slot = rank.upload(std::vector<float>(static_cast<std::size_t>(comm.size()) * 4096));
  auto* const sums = rank.upload(std::vector<float>(4096));
  auto const start = std::chrono::steady_clock::now();
  if (comm.rank() == 1) {
    std::this_thread::sleep_for(9s);
    CHECK_THROWS_AS(comm.check(), zero::peer_error);
  } else {
    comm.read_others(rank.stream(), gather_tag(1), slot, 4096 * 4, false, [&](auto const& reading) {
      zero::gpu_kernels::sum_of_peers<float, float>(
          rank.stream(), reading, sums, 4096, false, nullptr);
    });
    zero::check_cuda(cudaStreamSynchronize(rank.stream()), "cudaStreamSynchronize");
    CHECK_THROWS_AS(comm.check(), zero::peer_error);
    CHECK(seconds_since(start) < 12);
  }
  worker_passed();
}

TEST_CASE("worker: shards that sums may read" * doctest::skip(!is_worker())) {
  auto rank = make_rank();
  zero::nccl_options options;
  options.registration = zero::nccl_registration::peers;
  options.peer_reading_bytes = 4096;
  auto comm = rank.comm().duplicate(options);
  zero::gpu::memory const known(16384, "known");
  zero::gpu::memory const unknown(16384, "unknown");
  auto* const begin = static_cast<std::byte*>(known.get());
  CHECK_FALSE(comm.reads_others(begin, 4096));
  comm.register_memory(begin, 8192);
  CHECK(comm.reads_others(begin, 4096));
  CHECK_FALSE(comm.reads_others(begin, 4097));
  CHECK(comm.reads_others(begin + 4096, 4096));
  CHECK_FALSE(comm.reads_others(begin + 4097, 4096));
  CHECK_FALSE(comm.reads_others(begin, 0));
  CHECK_FALSE(comm.reads_others(unknown.get(), 4096));
  comm.register_memory(begin, 8192);  // taking it back once is enough
  comm.deregister_memory(begin);
  CHECK_FALSE(comm.reads_others(begin, 4096));
  worker_passed();
}

TEST_CASE("worker: options that differ" * doctest::skip(!is_worker())) {
  auto rank = make_rank();
  bool const odd = rank.comm().rank() == 1;
  auto const refusal = [&](auto&& change) -> std::string {
    zero::nccl_options options;
    options.registration = zero::nccl_registration::peers;
    options.warm_up_bytes = 1 << 20;
    if (odd) {
      change(options);
    }
    auto parent = rank.comm().duplicate();
    try {
      static_cast<void>(parent.duplicate(options));
    } catch (zero::logic_error const& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refusal([](auto&) {}) == "");
  CHECK(contains(refusal([](auto& o) { o.registration = zero::nccl_registration::none; }),
                 "registration differs between the ranks"));
  CHECK(contains(refusal([](auto& o) { o.peer_reading_bytes = 0; }), "peer_reading_bytes differs"));
  CHECK(contains(refusal([](auto& o) { o.warm_up_bytes = 0; }), "warm_up_bytes differs"));
  worker_passed();
}

TEST_CASE("worker: several streams" * doctest::skip(!is_worker())) {
  auto rank = make_rank();
  auto& comm = rank.comm();
  int const ranks = comm.size();
  std::int64_t const n = 1 << 18;
  zero::gpu::stream const streams[] = {zero::gpu::stream(zero::gpu::stream_priority::normal),
                                       zero::gpu::stream(zero::gpu::stream_priority::greatest),
                                       zero::gpu::stream(zero::gpu::stream_priority::normal)};

  struct exchange {
    unsigned char* send;
    unsigned char* receive;
  };

  exchange of[3];
  for (auto& e : of) {
    e = {rank.upload(std::vector<unsigned char>(static_cast<std::size_t>(n), 0xEE)),
         rank.upload(std::vector<unsigned char>(static_cast<std::size_t>(ranks * n), 0xEE))};
  }
  auto const gather = [&](int i) {
    comm.all_gather(streams[i].get(), gather_tag(1), of[i].send, of[i].receive, n);
  };
  zero::gpu::graph const graph = zero::test::capture(streams[2].get(), [&] { gather(2); });
  std::size_t wrong = 0;
  for (int round = 0; round < 30; ++round) {
    // Nothing orders the streams but the communicator, and a rank is late on one of them.
    int const i = round % 3;
    cudaStream_t const stream = streams[i].get();
    auto const value = [&](int r) { return static_cast<unsigned char>(r * 32 + round); };
    if (round % ranks == comm.rank()) {
      zero::test::spin(stream, 2);
    }
    zero::check_cuda(
        cudaMemsetAsync(of[i].send, value(comm.rank()), static_cast<std::size_t>(n), stream),
        "cudaMemsetAsync");
    if (i < 2) {
      gather(i);
    } else {
      comm.begin_watch(stream, gather_tag(1));
      graph.launch(stream);
      comm.end_watch(stream);
    }
    if (i == 2) {
      for (int j = 0; j < 3; ++j) {
        zero::check_cuda(cudaStreamSynchronize(streams[j].get()), "cudaStreamSynchronize");
        auto const got = rank.download(of[j].receive, ranks * n);
        for (std::int64_t k = 0; k < ranks * n; ++k) {
          auto const expected = static_cast<unsigned char>(k / n * 32 + round - 2 + j);
          wrong += got[static_cast<std::size_t>(k)] == expected ? 0 : 1;
        }
      }
    }
  }
  CHECK(wrong == 0);
  worker_passed();
}

static __global__ void fault_kernel() {
  asm volatile("trap;");
}

TEST_CASE("worker: a device that is lost" * doctest::skip(!is_worker())) {
  auto const start = std::chrono::steady_clock::now();
  {
    auto rank = make_rank();
    auto* const buffer =
        rank.upload(std::vector<int>(static_cast<std::size_t>(rank.comm().size())));
    CHECK(error_of_gather(rank, buffer) == "");
    if (rank.comm().rank() == 1) {
      std::this_thread::sleep_for(500ms);  // all has been seen to end
      fault_kernel<<<1, 1, 0, rank.stream()>>>();
      CHECK(cudaStreamSynchronize(rank.stream()) != cudaSuccess);
    } else {
      CHECK(contains(error_of_gather(rank, buffer), "rank 1 has failed"));
    }
  }
  CHECK(seconds_since(start) < 40);  // and not the limit of 60
  worker_passed();
}

TEST_CASE("worker: what cannot be shared" * doctest::skip(!is_worker())) {
  auto rank = make_rank();
  auto& comm = rank.comm();
  auto const refusal = [&](void* address, std::int64_t bytes) -> std::string {
    try {
      comm.register_memory(address, bytes);
    } catch (zero::logic_error const& error) {
      return error.what();
    }
    return "";
  };
  zero::gpu::memory const sizes(4096, "sizes");
  CHECK(contains(refusal(sizes.get(), 2048 + 256 * comm.rank()), "the same size on all ranks"));
  if (zero::detail::nccl_features::of_library().memory) {
    zero::gpu::memory const mapped(4096, "mapped", zero::nccl_allocator());
    bool const last = comm.rank() == comm.size() - 1;  // one rank's is enough
    CHECK(contains(refusal(last ? mapped.get() : sizes.get(), 4096), "memory of one cudaMalloc"));
  }
  // Neither was a failure: the ranks agree.
  auto* const buffer = rank.upload(std::vector<int>(static_cast<std::size_t>(comm.size())));
  CHECK(error_of_gather(rank, buffer) == "");
  worker_passed();
}

TEST_CASE("worker: a peer that aborts" * doctest::skip(!is_worker())) {
  auto rank = make_rank();
  auto* const buffer = rank.upload(std::vector<int>(static_cast<std::size_t>(rank.comm().size())));
  if (rank.comm().rank() == 0) {
    std::this_thread::sleep_for(500ms);
    rank.comm().abort("the user's reason");
    CHECK(contains(error_of_gather(rank, buffer), "the user's reason"));
  } else {
    auto const start = std::chrono::steady_clock::now();
    std::string const told = error_of_gather(rank, buffer);
    CHECK(contains(told, "rank 0 has failed: the user's reason"));
    CHECK(contains(told, "gather"));
    CHECK(seconds_since(start) < 5);
    CHECK_THROWS_AS(rank.comm().check(), zero::peer_error);
  }
  worker_passed();
}

TEST_CASE("worker: a peer that leaves" * doctest::skip(!is_worker())) {
  auto rank = make_rank();
  auto* const buffer = rank.upload(std::vector<int>(static_cast<std::size_t>(rank.comm().size())));
  CHECK(error_of_gather(rank, buffer) == "");
  auto const start = std::chrono::steady_clock::now();
  if (rank.comm().rank() == 1) {
    rank.comm().leave();
    std::this_thread::sleep_for(3s);
  } else {
    CHECK(contains(error_of_gather(rank, buffer, 5), "has left"));  // rank 1, or who heard of it
    CHECK(seconds_since(start) < 10);
  }
  worker_passed();
}

TEST_CASE("worker: a peer that dies" * doctest::skip(!is_worker())) {
  auto rank = make_rank();
  auto* const buffer = rank.upload(std::vector<int>(static_cast<std::size_t>(rank.comm().size())));
  if (rank.comm().rank() == 1) {
    worker_passed();
    std::_Exit(0);  // no destructor says anything
  }
  auto const start = std::chrono::steady_clock::now();
  CHECK(error_of_gather(rank, buffer) != "");  // by the board, or by a connection of NCCL's
  CHECK(seconds_since(start) < 15);
  worker_passed();
}

TEST_CASE("worker: a peer that stalls" * doctest::skip(!is_worker())) {
  auto rank = make_rank(5s);
  auto* const buffer = rank.upload(std::vector<int>(static_cast<std::size_t>(rank.comm().size())));
  if (rank.comm().rank() == 1) {
    std::this_thread::sleep_for(9s);
    CHECK(contains(error_of_gather(rank, buffer), "has failed"));  // it hears why
  } else {
    auto const start = std::chrono::steady_clock::now();
    CHECK(contains(error_of_gather(rank, buffer), "within 5 s"));
    CHECK(seconds_since(start) < 12);
  }
  worker_passed();
}

TEST_CASE("worker: the owner frees first" * doctest::skip(!is_worker())) {
  auto rank = make_rank();
  auto& comm = rank.comm();
  auto* const meeting = rank.upload(std::vector<int>(static_cast<std::size_t>(comm.size())));
  std::int64_t const bytes = std::int64_t{64} << 20;
  auto const free_bytes = [] {
    std::size_t free = 0;
    std::size_t total = 0;
    zero::check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return static_cast<std::int64_t>(free);
  };
  auto const meet = [&] { CHECK(error_of_gather(rank, meeting) == ""); };
  meet();
  std::int64_t const before = free_bytes();
  meet();
  {
    zero::gpu::memory first(bytes, "first");
    comm.register_memory(first.get(), bytes);
    meet();
    auto* const address = first.get();
    if (comm.rank() == 0) {
      comm.deregister_memory(address);
      first = zero::gpu::memory();
    }
    meet();
    if (comm.rank() != 0) {
      comm.deregister_memory(address);
    }
  }
  meet();
  CHECK(before - free_bytes() < bytes);  // nothing stays behind
  meet();
  worker_passed();
}

TEST_CASE("the laws of communicators hold for copies between the ranks of a host") {
  for (int const n : {1, 2, 3, 4}) {
    CAPTURE(n);
    CHECK(run_workers("worker: laws with peers", n));
  }
  CHECK(run_workers("worker: late ranks", 3));
  CHECK(run_workers("worker: groups with peers", 2));
  CHECK(run_workers("worker: several streams", 3));
}

TEST_CASE("sums that read the other ranks' memory give the bits of an exchange and a sum") {
  for (int const n : {1, 2, 3}) {
    CAPTURE(n);
    CHECK(run_workers("worker: sums that read the others", n));
  }
  CHECK(run_workers("worker: sums with late ranks", 3));
  CHECK(run_workers("worker: shards that sums may read", 2));
}

TEST_CASE("options that differ between the ranks are refused by all of them") {
  CHECK(run_workers("worker: options that differ", 3));
}

TEST_CASE("the laws of communicators hold for copies between GPUs") {
  int count = 0;
  zero::check_cuda(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  if (count >= 2) {
    CHECK(run_workers("worker: laws with peers", count, true));
    CHECK(run_workers("worker: late ranks", count, true));
    CHECK(run_workers("worker: several streams", count, true));
    CHECK(run_workers("worker: a peer that aborts", count, true));
    CHECK(run_workers("worker: a peer that stalls", count, true));
    CHECK(run_workers("worker: the owner frees first", count, true));
    CHECK(run_workers("worker: sums that read the others", count, true));
    CHECK(run_workers("worker: sums with late ranks", count, true));
    CHECK(run_workers("worker: a sum without a peer", count, true));
  }
}

TEST_CASE("memory that cannot be shared is refused by all ranks alike") {
  CHECK(run_workers("worker: what cannot be shared", 2));
}

TEST_CASE("a rank of the host that fails, leaves, dies or stalls is noticed by the others") {
  CHECK(run_workers("worker: a peer that aborts", 3));
  CHECK(run_workers("worker: a peer that leaves", 3));
  CHECK(run_workers("worker: a peer that dies", 3));
  CHECK(run_workers("worker: a peer that stalls", 3));
  CHECK(run_workers("worker: a sum without a peer", 3));
  CHECK(run_workers("worker: a device that is lost", 2));
}

TEST_CASE("memory may be freed by its owner before the others have let go of it") {
  CHECK(run_workers("worker: the owner frees first", 2));
}
