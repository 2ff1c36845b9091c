// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/detail/local_meeting.hpp>
#include <zero/comm/detail/local_run.hpp>
#include <zero/comm/detail/rank_sum.cuh>
#include <zero/comm/gpu/detail/local_seats.hpp>
#include <zero/comm/gpu/local_gpu_communicator.cuh>
#include <zero/comm/local.hpp>
#include <zero/core/error.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/fwd.hpp>
#include <zero/version.hpp>

#include <cuda_runtime.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zero::inline ZERO_ABI {

/// What a local world on GPUs may be told.
struct local_gpu_options {
  /// How long a rank waits for the others to enqueue a collective; see @ref local_options.
  std::chrono::milliseconds stall_limit = std::chrono::seconds(120);

  /// The devices to deal out to the ranks in turn; empty: all ranks share the current device of the
  /// thread that makes the world. Devices that differ must have peer access to each other.
  std::vector<int> devices{};
};

/// A world of ranks that are threads of this process, on one GPU or several. A handle: copies share
/// the world, and each rank's thread takes its communicator from it.
class local_gpu_world {
 public:
  /// Makes the world and enables access between its devices.
  /// @param ranks the number of ranks, from 1 to 256
  /// @throws logic_error fewer or more ranks, or devices without access to each other; cuda_error
  explicit local_gpu_world(int ranks, local_gpu_options options = {})
      : seats_(make_seats(ranks, options)) {}

  /// The number of ranks.
  [[nodiscard]] int size() const noexcept { return seats_->size(); }

  /// The device of a rank.
  [[nodiscard]] int device(int rank) const noexcept { return seats_->device(rank); }

  /// The communicator of one rank; each rank's can be taken once. Any thread. Allocates.
  /// @throws logic_error no such rank, or its communicator has been taken; cuda_error
  [[nodiscard]] local_gpu_communicator communicator(int rank) const {
    return local_gpu_communicator(seats_, rank);
  }

  /// Makes the whole world fail, as if `rank` had: for whoever started a rank's thread and saw it
  /// die.
  void abort(int rank, std::string why) const noexcept {
    seats_->meeting().abort(rank, std::move(why));
  }

  /// Runs `body(local_gpu_communicator)` once a rank, each on a thread of its own with its device
  /// current, and returns when all have ended. A rank that throws makes the others fail at once.
  /// @throws as `Local::run`
  template <class Body>
  static void run(int ranks, Body&& body, local_gpu_options options = {}) {
    local_gpu_world const world(ranks, std::move(options));
    detail::run_ranks(
        ranks,
        [&](int rank) {
          check_cuda(cudaSetDevice(world.device(rank)), "cudaSetDevice");
          body(world.communicator(rank));
        },
        [&](int rank, std::string why) { world.abort(rank, std::move(why)); });
  }

 private:
  static std::shared_ptr<detail::local_seats> make_seats(int ranks, local_gpu_options& options) {
    precondition(ranks >= 1 && ranks <= detail::most_local_gpu_ranks,
                 "zero::Local: a world on GPUs has 1 to 256 ranks");
    return std::make_shared<detail::local_seats>(
        std::make_shared<detail::local_meeting>(ranks, options.stall_limit),
        detail::deal_devices(ranks, std::move(options.devices)));
  }

  std::shared_ptr<detail::local_seats> seats_;
};

namespace detail {

template <>
struct local_communicator_of<Cuda> {
  using type = local_gpu_communicator;
};

}  // namespace detail

}  // namespace zero::inline ZERO_ABI
