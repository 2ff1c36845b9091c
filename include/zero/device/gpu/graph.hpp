// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/device/gpu/error.hpp>
#include <zero/version.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <utility>

namespace zero::inline ZERO_ABI::gpu {

/// Owns a captured piece of work, ready to be launched again and again. Launches allocate nothing.
///
/// Move-only; a moved-from graph owns nothing and cannot be launched.
class graph {
 public:
  /// Owns nothing.
  graph() = default;

  /// Takes a captured graph and prepares it for launches; the captured form is destroyed.
  /// @throws cuda_error
  explicit graph(cudaGraph_t captured) {
    auto const counted = cudaGraphGetNodes(captured, nullptr, &nodes_);
    auto const code =
        counted == cudaSuccess ? cudaGraphInstantiate(&handle_, captured, 0) : counted;
    ignore_at_exit(cudaGraphDestroy(captured));
    check_cuda(code, "cudaGraphInstantiate");
  }

  /// Takes over what `other` has, which is left empty.
  graph(graph&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)),
        nodes_(std::exchange(other.nodes_, 0)) {}

  /// Changes places with `other`.
  graph& operator=(graph&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(nodes_, other.nodes_);
    return *this;
  }

  ~graph() {
    if (handle_ != nullptr) {
      ignore_at_exit(cudaGraphExecDestroy(handle_));
    }
  }

  /// Uploads the graph to the device ahead of its first launch, so that this one costs no more than
  /// the later ones. @throws cuda_error
  void upload(cudaStream_t queue) const {
    check_cuda(cudaGraphUpload(handle_, queue), "cudaGraphUpload");
  }

  /// Queues one run of the work. @throws cuda_error
  void launch(cudaStream_t queue) const {
    check_cuda(cudaGraphLaunch(handle_, queue), "cudaGraphLaunch");
  }

  /// Operations captured.
  [[nodiscard]] std::size_t nodes() const noexcept { return nodes_; }

  /// The handle; stays owned.
  [[nodiscard]] cudaGraphExec_t get() const noexcept { return handle_; }

 private:
  cudaGraphExec_t handle_ = nullptr;
  std::size_t nodes_ = 0;
};

}  // namespace zero::inline ZERO_ABI::gpu
