// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/nccl.hpp>
#include <zero/core/error.hpp>
#include <zero/version.hpp>

#if __has_include(<mpi.h>)
#  include <mpi.h>
#endif

#include <cstddef>
#include <exception>
#include <span>
#include <string>
#include <utility>

namespace zero::inline ZERO_ABI::detail {

#if __has_include(<mpi.h>)

/// Throws what a failed call of MPI deserves; most MPI libraries end the program before.
inline void check_mpi(int code, char const* call) {
  if (code != MPI_SUCCESS) {
    std::string text(MPI_MAX_ERROR_STRING, '\0');
    int length = 0;
    static_cast<void>(MPI_Error_string(code, text.data(), &length));
    text.resize(static_cast<std::size_t>(length));
    throw io_error(code, call, text);
  }
}

/// Brings the bytes that rank 0 makes to all ranks of an MPI communicator. MPI keeps its own limits
/// of time. Where rank 0 fails, all ranks do.
template <>
struct mpi_launch<MPI_Comm> {
  static constexpr bool value = true;

  template <class Make>
  static std::pair<int, int> agree_on_bytes(MPI_Comm comm, std::span<std::byte> bytes, Make make) {
    int initialized = 0;
    check_mpi(MPI_Initialized(&initialized), "MPI_Initialized");
    expects(initialized != 0, "zero::Nccl::from_mpi: call MPI_Init before");
    int rank = 0;
    int size = 0;
    check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(comm, &size), "MPI_Comm_size");
    std::exception_ptr failure;
    int made = 1;
    if (rank == 0) {
      try {
        make(bytes);
      } catch (...) {
        failure = std::current_exception();
        made = 0;
      }
    }
    check_mpi(MPI_Bcast(&made, 1, MPI_INT, 0, comm), "MPI_Bcast");
    if (failure != nullptr) {
      std::rethrow_exception(failure);
    }
    expects(made != 0,
            "zero::Nccl::from_mpi: rank 0 could not make NCCL's identifier; see its error");
    check_mpi(MPI_Bcast(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, comm),
              "MPI_Bcast");
    return {rank, size};
  }
};

#endif

}  // namespace zero::inline ZERO_ABI::detail
