// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/nccl/nccl.hpp>

#include "tests/support/gpu_rank.hpp"
#include "tests/support/processes.hpp"
#include "tests/support/text.hpp"

#include <zero/comm/nccl/error.hpp>
#include <zero/device/gpu/cuda.hpp>
#include <zero/device/host.hpp>
#include <zero/policy/compatible.hpp>

#include <doctest/doctest.h>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using zero::Nccl;
using zero::nccl_communicator;
using zero::test::contains;
using zero::test::is_worker;
using zero::test::run_workers;

static_assert(zero::policy_of<Nccl, zero::communicator_category>);
static_assert(std::is_same_v<Nccl::communicator<zero::Cuda>, nccl_communicator>);
static_assert(zero::compatible_v<Nccl, zero::Cuda>);
static_assert(!zero::compatible_v<Nccl, zero::Host>);

namespace {

constexpr zero::collective_tag tag{.sequence = 1, .operation_name = "test"};
zero::nccl_options const quick{.limit = 60s, .warm_up_bytes = 1 << 20};

/// All ranks gather their numbers: the shortest proof that they are connected as they should be.
void introduce(nccl_communicator comm) {
  zero::test::gpu_rank<nccl_communicator> rank(std::move(comm));
  int const ranks = rank.comm().size();
  std::vector<int> expected;
  for (int i = 0; i < ranks; ++i) {
    expected.push_back(i);
  }
  int* const send = rank.upload(std::vector<int>(1, rank.comm().rank()));
  int* const receive = rank.upload(std::vector<int>(expected.size()));
  rank.comm().all_gather(rank.stream(), tag, send, receive, sizeof(int));
  CHECK(rank.download(receive, ranks) == expected);
}

int variable(char const* name) {
  char const* const text = std::getenv(name);
  zero::precondition(text != nullptr, "a worker's variable is missing");
  return std::atoi(text);
}

}  // namespace

TEST_CASE("worker: from the environment" * doctest::skip(!is_worker())) {
  auto comm = Nccl::from_environment(quick);
  CHECK(comm.rank() == variable("RANK"));
  CHECK(comm.size() == variable("WORLD_SIZE"));
  introduce(std::move(comm));
  zero::test::worker_passed();
}

TEST_CASE("worker: from a file" * doctest::skip(!is_worker())) {
  int const rank = variable("RANK");
  int const size = variable("WORLD_SIZE");
  std::string const path = zero::test::worker_directory().string() + ".id";
  introduce(Nccl::from_file(path, rank, size, quick));
  introduce(Nccl::from_file(path, rank, size, quick));  // and again, under the same path
  zero::test::worker_passed();
}

TEST_CASE("worker: from a handle" * doctest::skip(!is_worker())) {
  int const rank = variable("RANK");
  int const size = variable("WORLD_SIZE");
  zero::detail::nccl_identifier identifier;
  zero::agree_on_bytes(zero::read_launch_environment(),
                       identifier.bytes(),
                       zero::detail::nccl_identifier::make,
                       60s);
  ncclComm_t mine = nullptr;
  zero::check_nccl(ncclCommInitRank(&mine, size, identifier.id, rank), "ncclCommInitRank");
  auto options = quick;
  {
    auto comm = Nccl::from_handle(mine, options);
    CHECK(comm.handle() == mine);
    introduce(std::move(comm));
  }
  options.split = true;
  auto split = Nccl::from_handle(mine, options);
  CHECK(split.handle() != mine);
  zero::check_nccl(ncclCommDestroy(mine), "ncclCommDestroy");
  introduce(std::move(split));
  zero::test::worker_passed();
}

TEST_CASE("NCCL's ranks are connected from the environment") {
  for (int const n : {1, 2, 4}) {
    CAPTURE(n);
    CHECK(run_workers("worker: from the environment", n));
  }
}

TEST_CASE("NCCL's ranks are connected from a file") {
  CHECK(run_workers("worker: from a file", 2));
}

TEST_CASE("NCCL's ranks are connected from the user's communicator") {
  CHECK(run_workers("worker: from a handle", 2));
}

TEST_CASE("NCCL's ranks are connected from the environment, one GPU each") {
  int count = 0;
  zero::check_cuda(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  if (count >= 2) {
    CHECK(run_workers("worker: from the environment", count, true));
  }
}

TEST_CASE("a communicator of one rank is made of an identifier") {
  ncclUniqueId id{};
  zero::check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
  introduce(Nccl::from_id(id, 0, 1, quick));
  CHECK_THROWS_AS(static_cast<void>(Nccl::from_id(id, 1, 1, quick)), zero::logic_error);
}

TEST_CASE("a rank that never connects is not waited for longer than the limit") {
  ncclUniqueId id{};
  zero::check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
  auto const start = std::chrono::steady_clock::now();
  try {
    static_cast<void>(Nccl::from_id(id, 0, 2, {.limit = 2s}));
    FAIL("no exception");
  } catch (zero::peer_error const& error) {
    CHECK(contains(error.what(), "did not connect all ranks within 2 s"));
  }
  CHECK(std::chrono::steady_clock::now() - start < 10s);
}

TEST_CASE("mistakes are named") {
  CHECK_THROWS_AS(static_cast<void>(Nccl::from_handle(nullptr)), zero::logic_error);
  ncclUniqueId id{};
  zero::check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
  try {
    static_cast<void>(Nccl::from_id(id, 0, 1, {.device = 4711}));
    FAIL("no exception");
  } catch (zero::logic_error const& error) {
    CHECK(contains(error.what(), "wants device 4711"));
  }
  if (std::getenv("WORLD_SIZE") == nullptr) {
    CHECK_THROWS_AS(static_cast<void>(Nccl::from_environment()), zero::logic_error);
  }
}

TEST_CASE("LOCAL_RANK names the device, except where the process sees one") {
  int count = 0;
  zero::check_cuda(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  CHECK(zero::detail::chosen_device({}, -1) == 0);
  CHECK(zero::detail::chosen_device({}, 0) == 0);
  CHECK(zero::detail::chosen_device({.device = 0}, 5) == 0);
  if (count == 1) {
    CHECK(zero::detail::chosen_device({}, 3) == 0);
  } else {
    CHECK(zero::detail::chosen_device({}, 1) == 1);
    CHECK_THROWS_AS(static_cast<void>(zero::detail::chosen_device({}, count)), zero::logic_error);
  }
}
