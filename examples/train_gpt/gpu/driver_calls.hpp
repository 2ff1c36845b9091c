// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace train_gpt::gpu {

/// Calls into the driver, on the threads and at the times that are watched.
struct driver_calls {
  std::int64_t allocations = 0;  ///< of device or pinned memory
  std::int64_t waits =
      0;  ///< synchronise, blocking copies, frees, and queries of streams or events
};

/// Counts them through CUPTI's callbacks from now on. Where CUPTI is not there, or another tool has
/// it, nothing is counted.
void watch_driver() noexcept;

/// What was counted so far, on all threads; none where nothing can be counted.
[[nodiscard]] std::optional<driver_calls> watched_driver_calls() noexcept;

/// The calling thread is watched while this lives.
class watched_scope {
 public:
  watched_scope() noexcept;
  watched_scope(watched_scope const&) = delete;
  watched_scope& operator=(watched_scope const&) = delete;
  ~watched_scope();
};

/// Bytes of the current device that are taken, by whomever.
/// @throws zero::cuda_error
[[nodiscard]] std::int64_t device_bytes_taken();

}  // namespace train_gpt::gpu
