// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/launch.hpp>
#include <zero/comm/nccl/communicator.hpp>
#include <zero/comm/nccl/detail/connect.hpp>
#include <zero/comm/nccl/error.hpp>
#include <zero/comm/nccl/options.hpp>
#include <zero/comm/rendezvous_file.hpp>
#include <zero/core/error.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/fwd.hpp>
#include <zero/policy/communicator.hpp>
#include <zero/policy/concepts.hpp>
#include <zero/version.hpp>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <string>

namespace zero::inline ZERO_ABI {

namespace detail {

/// How `Nccl::from_mpi` reaches MPI, which is not included here: `<zero/comm/nccl/mpi.hpp>`
/// specialises it for `MPI_Comm`.
template <class MpiComm>
struct mpi_launch {
  static constexpr bool value = false;
};

/// The bytes of an identifier, made on rank 0.
struct nccl_identifier {
  ncclUniqueId id{};

  [[nodiscard]] std::span<std::byte> bytes() noexcept {
    return std::as_writable_bytes(std::span(id.internal));
  }

  static void make(std::span<std::byte> to) {
    ncclUniqueId made{};
    check_nccl(ncclGetUniqueId(&made), "ncclGetUniqueId");
    std::memcpy(to.data(), made.internal, to.size());
  }
};

/// The device that the options mean. `local_rank` is -1 when there is none.
/// @throws logic_error the process sees fewer devices; cuda_error
[[nodiscard]] inline int chosen_device(nccl_options const& options, int local_rank) {
  int count = 0;
  check_cuda(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  int device = options.device;
  if (device < 0 && local_rank >= 0) {
    device = count == 1 ? 0 : local_rank;
  }
  if (device < 0) {
    check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  }
  if (device >= count) {
    throw logic_error(
        "zero::Nccl: this rank wants device " + std::to_string(device) + " but the process sees " +
        std::to_string(count) +
        "; start as many ranks a machine as it has GPUs, or set nccl_options::device");
  }
  return device;
}

}  // namespace detail

/// The communicator policy of NVIDIA GPUs, one a rank, over NCCL 2.18 or newer. Needs @ref Cuda.
///
/// Each function makes the communicator of one rank and is collective over the ranks. None sets an
/// environment variable; NCCL's own stay in force. All of them throw nccl_error where NCCL refuses,
/// and peer_error where a rank does not come within `nccl_options::limit`.
struct Nccl {
  using policy_category = communicator_category;

  /// The communicator class, the same for each device policy that it serves.
  template <class Device>
  using communicator = nccl_communicator;

  /// From what a launcher has put into the environment: @ref launch_environment says what, and
  /// `agree_on_bytes` how the ranks meet. The device is `LOCAL_RANK`, or 0 where the process sees
  /// one device, unless `options.device` says otherwise.
  /// @throws logic_error a variable is missing or wrong; io_error the ranks did not meet
  [[nodiscard]] static nccl_communicator from_environment(nccl_options const& options = {}) {
    launch_environment const here = read_launch_environment();
    int const device = detail::chosen_device(options, here.local_rank);
    detail::nccl_identifier identifier;
    agree_on_bytes(here, identifier.bytes(), detail::nccl_identifier::make, options.limit);
    return connect(identifier.id, here.rank, here.size, device, options);
  }

  /// From a path that all ranks share; see `rendezvous_by_file`. The job token is the
  /// environment's.
  /// @throws io_error the ranks did not meet; logic_error the rank is not below the size
  [[nodiscard]] static nccl_communicator from_file(std::string const& path,
                                                   int rank,
                                                   int size,
                                                   nccl_options const& options = {}) {
    rendezvous const who{
        .rank = rank, .size = size, .token = read_job_token(), .limit = options.limit};
    detail::check_rendezvous(who);
    int const device = detail::chosen_device(options, -1);
    detail::nccl_identifier identifier;
    if (rank == 0) {
      detail::nccl_identifier::make(identifier.bytes());
    }
    rendezvous_by_file(who, path, identifier.bytes());
    return connect(identifier.id, rank, size, device, options);
  }

  /// From NCCL's identifier, which the user has brought to all ranks.
  /// @throws logic_error the rank is not below the size
  [[nodiscard]] static nccl_communicator from_id(ncclUniqueId const& id,
                                                 int rank,
                                                 int size,
                                                 nccl_options const& options = {}) {
    detail::check_rendezvous({.rank = rank, .size = size, .limit = options.limit});
    return connect(id, rank, size, detail::chosen_device(options, -1), options);
  }

  /// From the user's communicator of NCCL, blocking or not. It stays the user's to destroy, after
  /// this object; meanwhile collectives on it must not mix with ours. With `options.split` ours is
  /// split from it, by `ncclCommSplit`, and independent from then on.
  ///
  /// After a failure a communicator that was not split is revoked (NCCL 2.28.7 and newer), else
  /// aborted, which destroys it: `handle()` is null then.
  /// @throws logic_error the handle is null
  [[nodiscard]] static nccl_communicator from_handle(ncclComm_t handle,
                                                     nccl_options const& options = {}) {
    precondition(handle != nullptr,
                 "zero::Nccl: from_handle needs a communicator, not a null pointer; use "
                 "from_environment to make one");
    if (!options.split) {
      return {handle, false, options};
    }
    int rank = 0;
    int device = 0;
    check_nccl(ncclCommUserRank(handle, &rank), "ncclCommUserRank", handle);
    check_nccl(ncclCommCuDevice(handle, &device), "ncclCommCuDevice", handle);
    auto const config = detail::make_config(options);
    return {detail::split_in_time(handle, rank, device, options.limit, config), true, options};
  }

  /// From an MPI communicator: ranks and size are its; rank 0 broadcasts NCCL's identifier over it.
  /// Include `<zero/comm/nccl/mpi.hpp>` to use it.
  /// @param mpi a `MPI_Comm`
  template <class MpiComm>
  [[nodiscard]] static nccl_communicator from_mpi(MpiComm mpi, nccl_options const& options = {}) {
    using launch = detail::mpi_launch<MpiComm>;
    static_assert(launch::value,
                  "zero::Nccl::from_mpi: include <zero/comm/nccl/mpi.hpp>, which needs mpi.h, and "
                  "pass a MPI_Comm.");
    if constexpr (launch::value) {
      int const device = detail::chosen_device(options, -1);
      detail::nccl_identifier identifier;
      auto const [rank, size] =
          launch::agree_on_bytes(mpi, identifier.bytes(), detail::nccl_identifier::make);
      return connect(identifier.id, rank, size, device, options);
    }
  }

 private:
  [[nodiscard]] static nccl_communicator connect(
      ncclUniqueId const& id, int rank, int size, int device, nccl_options const& options) {
    ncclComm_t const comm = detail::connect_in_time(
        device,
        options.limit,
        "ncclCommInitRankConfig",
        [id, rank, size, config = detail::make_config(options)](ncclComm_t* made) mutable {
          return ncclCommInitRankConfig(made, size, id, rank, &config);
        });
    return {comm, true, options};
  }
};

static_assert(policy_of<Nccl, communicator_category>);

}  // namespace zero::inline ZERO_ABI
