// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/nccl/mpi.hpp>

// A program of its own, started by mpirun: every rank runs the same cases in the same order, and
// all share GPU 0. How the ranks meet is tested without a GPU in
// tests/unit/comm/rendezvous_mpi.cpp.
#define DOCTEST_CONFIG_IMPLEMENT
#include "tests/laws/communicator.hpp"
#include "tests/support/gpu_rank.hpp"

#include <zero/core/error.hpp>

#include <doctest/doctest.h>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <string>

static_assert(!zero::detail::mpi_launch<std::string>::value);
static_assert(zero::detail::mpi_launch<MPI_Comm>::value);

TEST_CASE("the laws of communicators hold for NCCL from MPI, ranks and size are MPI's") {
  int rank = -1;
  int size = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm backwards = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards);
  zero::nccl_options const options{.device = 0, .warm_up_bytes = 1 << 20};
  zero::test::gpu_rank<zero::nccl_communicator> on_gpu(zero::Nccl::from_mpi(backwards, options));
  MPI_Comm_free(&backwards);  // it was the user's, and is needed no more
  CHECK(on_gpu.comm().rank() == size - 1 - rank);
  CHECK(on_gpu.comm().size() == size);
  zero::laws::communicator_laws(on_gpu);
}

TEST_CASE("no communicator is refused by a sentence") {
  CHECK_THROWS_WITH_AS(static_cast<void>(zero::Nccl::from_mpi(MPI_COMM_NULL)),
                       "zero::Nccl::from_mpi: needs a communicator, not MPI_COMM_NULL",
                       zero::logic_error);
}

int main(int argc, char** argv) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("SKIPPED: this machine has no GPU that CUDA can use.");
    return 77;
  }
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  // NCCL takes ranks on one GPU for machines, as under tests/gpu/run_processes.
  setenv("NCCL_HOSTID", ("zero-test-" + std::to_string(rank)).c_str(), 1);
  setenv("NCCL_SOCKET_IFNAME", "lo", 1);
  setenv("NCCL_NVLS_ENABLE", "0", 0);
  int const failed = doctest::Context(argc, argv).run();
  MPI_Finalize();
  return failed;
}
