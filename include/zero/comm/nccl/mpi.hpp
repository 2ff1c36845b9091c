// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/nccl/nccl.hpp>
#include <zero/comm/rendezvous_mpi.hpp>
#include <zero/version.hpp>

#if __has_include(<mpi.h>)

#  include <cstddef>
#  include <mpi.h>
#  include <span>
#  include <utility>

namespace zero::inline ZERO_ABI::detail {

/// Brings the identifier that rank 0 makes to all ranks of an MPI communicator.
template <>
struct mpi_launch<MPI_Comm> {
  static constexpr bool value = true;

  template <class Make>
  static std::pair<int, int> agree_on_bytes(MPI_Comm comm, std::span<std::byte> bytes, Make make) {
    auto const place = rendezvous_by_mpi(comm, bytes, make, "zero::Nccl::from_mpi");
    return {place.rank, place.size};
  }
};

}  // namespace zero::inline ZERO_ABI::detail

#endif
