// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/detail/local_meeting.hpp>
#include <zero/core/error.hpp>
#include <zero/device/gpu/device_guard.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/device/gpu/event.hpp>
#include <zero/version.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// What the ranks of a local world on GPUs share: the place where their threads meet, each rank's
/// device, and three events a rank. They are enough: between two records of an event lies a meeting
/// that every rank comes to only after it has enqueued its wait for the first.
class local_seats {
 public:
  local_seats(std::shared_ptr<local_meeting> meeting, std::vector<int> devices)
      : meeting_(std::move(meeting)),
        devices_(std::move(devices)),
        seats_(devices_.size()) {}

  [[nodiscard]] int size() const noexcept { return static_cast<int>(seats_.size()); }

  [[nodiscard]] local_meeting& meeting() const noexcept { return *meeting_; }

  [[nodiscard]] int device(int rank) const noexcept {
    return devices_[static_cast<std::size_t>(rank)];
  }

  /// A rank's buffers may be read after it.
  [[nodiscard]] gpu::event const& ready(int rank) const noexcept { return seat(rank).ready; }

  /// A rank has read the others' buffers, in the first or the second phase of a collective.
  [[nodiscard]] gpu::event const& done(int rank, int phase) const noexcept {
    return phase == 0 ? seat(rank).done : seat(rank).done_again;
  }

  /// A rank's thread sits down. The others see its events after the first meeting.
  void take(int rank) {
    meeting_->take_seat(rank);
    gpu::device_guard const guard(device(rank));
    auto& mine = seats_[static_cast<std::size_t>(rank)];
    mine.ready = gpu::event(gpu::event_timing::off);
    mine.done = gpu::event(gpu::event_timing::off);
    mine.done_again = gpu::event(gpu::event_timing::off);
  }

  /// The seats behind this rank's next duplicate.
  [[nodiscard]] std::shared_ptr<local_seats> duplicate(int rank) {
    std::shared_ptr<local_meeting> const meeting = meeting_->duplicate(rank);
    std::lock_guard const lock(mutex_);
    for (auto const& child : children_) {
      if (child->meeting_ == meeting) {
        return child;
      }
    }
    children_.push_back(std::make_shared<local_seats>(meeting, devices_));
    return children_.back();
  }

 private:
  struct events {
    gpu::event ready;
    gpu::event done;
    gpu::event done_again;
  };

  [[nodiscard]] events const& seat(int rank) const noexcept {
    return seats_[static_cast<std::size_t>(rank)];
  }

  std::shared_ptr<local_meeting> meeting_;
  std::vector<int> devices_;
  std::vector<events> seats_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<local_seats>> children_;
};

/// Lets the kernels and copies of device `from` read memory of device `to`.
/// @throws logic_error the machine has no way between them; cuda_error
inline void enable_access(int from, int to) {
  if (from == to) {
    return;
  }
  int possible = 0;
  check_cuda(cudaDeviceCanAccessPeer(&possible, from, to), "cudaDeviceCanAccessPeer");
  if (possible == 0) {
    throw logic_error("zero::Local: device " + std::to_string(from) + " has no access to device " +
                      std::to_string(to) + "; use Nccl, or let the ranks share one device");
  }
  gpu::device_guard const guard(from);
  auto const code = cudaDeviceEnablePeerAccess(to, 0);
  if (code == cudaErrorPeerAccessAlreadyEnabled) {
    static_cast<void>(cudaGetLastError());
  } else {
    check_cuda(code, "cudaDeviceEnablePeerAccess");
  }
}

/// The device of each rank: those given, in turn, or the current one; all have access to each
/// other.
/// @throws logic_error, cuda_error
[[nodiscard]] inline std::vector<int> deal_devices(int ranks, std::vector<int> devices) {
  if (devices.empty()) {
    devices.push_back(0);
    check_cuda(cudaGetDevice(devices.data()), "cudaGetDevice");
  }
  std::vector<int> dealt;
  dealt.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    dealt.push_back(devices[static_cast<std::size_t>(rank) % devices.size()]);
  }
  for (int const from : dealt) {
    for (int const to : dealt) {
      enable_access(from, to);
    }
  }
  return dealt;
}

}  // namespace zero::inline ZERO_ABI::detail
