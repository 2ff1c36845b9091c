// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>
#include <zero/version.hpp>

#if defined(ZERO_DOXYGEN) || __has_include(<mpi.h>)

#  include <climits>
#  include <cstddef>
#  include <exception>
#  include <mpi.h>
#  include <span>
#  include <string>

namespace zero::inline ZERO_ABI {

namespace detail {

/// Throws what a failed call of MPI deserves.
inline void check_mpi(int code, char const* call) {
  if (code != MPI_SUCCESS) {
    std::string text(MPI_MAX_ERROR_STRING, '\0');
    int length = 0;
    static_cast<void>(MPI_Error_string(code, text.data(), &length));
    text.resize(static_cast<std::size_t>(length));
    throw io_error(code, call, text);
  }
}

/// A duplicate of the user's communicator of MPI: its errors are returned, whatever handler the
/// user has set for his own, and no message of his is met.
class mpi_duplicate {
 public:
  explicit mpi_duplicate(MPI_Comm users) {
    check_mpi(MPI_Comm_dup(users, &comm_), "MPI_Comm_dup");
    check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }

  mpi_duplicate(mpi_duplicate const&) = delete;
  mpi_duplicate& operator=(mpi_duplicate const&) = delete;

  ~mpi_duplicate() { static_cast<void>(MPI_Comm_free(&comm_)); }

  [[nodiscard]] MPI_Comm get() const noexcept { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace detail

/// Where a process stands in a communicator of MPI.
struct mpi_place {
  int rank = 0;  ///< this process
  int size = 1;  ///< number of processes
};

/// Brings the bytes that rank 0 of a communicator of MPI makes to all its ranks. Collective.
///
/// Speaks on a duplicate of the communicator, which it frees: the user's messages under way are not
/// touched, his error handler is not called. MPI keeps its own limits of time. Where this header
/// finds no `<mpi.h>` there is no such function.
///
/// @param comm   an intra-communicator; stays the user's
/// @param bytes  what rank 0 fills and the others receive; the same size, below 2 GiB, on all
/// @param make   `make(bytes)`, called on rank 0
/// @param caller whose sentences the refusals are
/// @return the rank and the size of `comm`
/// @throws logic_error MPI does not run, or `comm` is null or an inter-communicator
/// @throws peer_error on all other ranks when `make` throws, and on rank 0 what it throws
/// @throws io_error a call of MPI failed
template <class Make>
mpi_place rendezvous_by_mpi(MPI_Comm comm,
                            std::span<std::byte> bytes,
                            Make make,
                            char const* caller = "zero::rendezvous_by_mpi") {
  auto const require = [&](bool holds, char const* what) {
    if (!holds) {
      throw logic_error(std::string(caller) + ": " + what);
    }
  };
  int begun = 0;
  int ended = 0;
  detail::check_mpi(MPI_Initialized(&begun), "MPI_Initialized");
  detail::check_mpi(MPI_Finalized(&ended), "MPI_Finalized");
  require(begun != 0, "call MPI_Init before");
  require(ended == 0, "call it before MPI_Finalize");
  require(comm != MPI_COMM_NULL, "needs a communicator, not MPI_COMM_NULL");
  int joins_two = 0;
  detail::check_mpi(MPI_Comm_test_inter(comm, &joins_two), "MPI_Comm_test_inter");
  require(joins_two == 0, "needs an intra-communicator; MPI_Intercomm_merge makes one");
  require(bytes.size() <= static_cast<std::size_t>(INT_MAX), "brings less than 2 GiB");

  detail::mpi_duplicate const ours(comm);
  mpi_place place;
  detail::check_mpi(MPI_Comm_rank(ours.get(), &place.rank), "MPI_Comm_rank");
  detail::check_mpi(MPI_Comm_size(ours.get(), &place.size), "MPI_Comm_size");
  std::exception_ptr failure;
  int made = 1;
  if (place.rank == 0) {
    try {
      make(bytes);
    } catch (...) {
      failure = std::current_exception();
      made = 0;
    }
  }
  detail::check_mpi(MPI_Bcast(&made, 1, MPI_INT, 0, ours.get()), "MPI_Bcast");
  if (failure != nullptr) {
    std::rethrow_exception(failure);
  }
  if (made == 0) {
    throw peer_error(std::string(caller) +
                         ": rank 0 could not make what it was to bring; see its "
                         "error",
                     0,
                     0,
                     "",
                     "rendezvous");
  }
  detail::check_mpi(
      MPI_Bcast(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, ours.get()),
      "MPI_Bcast");
  return place;
}

}  // namespace zero::inline ZERO_ABI

#endif
