// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/nccl_mpi.hpp>

#include <doctest/doctest.h>

#include <string>

static_assert(!zero::detail::mpi_launch<std::string>::value);
#if __has_include(<mpi.h>)
static_assert(zero::detail::mpi_launch<MPI_Comm>::value);
#endif

TEST_CASE("the header compiles with and without mpi.h") {
  CHECK(true);
}
