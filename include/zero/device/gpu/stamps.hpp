// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/device/gpu/error.hpp>
#include <zero/device/gpu/event.hpp>
#include <zero/device/stamps.hpp>
#include <zero/version.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

namespace zero::inline ZERO_ABI {

/// On a GPU: events with time stamps, recorded into the queue's stream.
template <>
class time_stamps<cudaStream_t> {
 public:
  /// Makes `places` events of the current device. @throws cuda_error
  explicit time_stamps(std::size_t places) {
    events_.reserve(places);
    for (std::size_t i = 0; i < places; ++i) {
      events_.emplace_back(gpu::event_timing::on);
    }
  }

  /// Stamps `place` when the stream gets there. @throws cuda_error
  void set(std::size_t place, cudaStream_t stream) { events_[place].record(stream); }

  /// @pre both have been reached. @throws cuda_error
  [[nodiscard]] double microseconds(std::size_t from, std::size_t to) const {
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, events_[from].get(), events_[to].get()),
               "cudaEventElapsedTime");
    return 1000.0 * static_cast<double>(milliseconds);
  }

 private:
  std::vector<gpu::event> events_;
};

}  // namespace zero::inline ZERO_ABI
