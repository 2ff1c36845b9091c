// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/device/gpu/device_guard.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/device/gpu/memory.hpp>
#include <zero/device/gpu/stream.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace zero::test {

/// A rank on a GPU, for the laws of communicators: what is uploaded lives as long as this.
template <class Communicator>
class gpu_rank {
 public:
  /// @param registers makes what is uploaded known to the communicator; `upload` is collective then
  explicit gpu_rank(Communicator comm, bool registers = false)
      : guard_(comm.device()),
        stream_(gpu::stream_priority::normal),
        registers_(registers),
        comm_(std::move(comm)) {}

  Communicator& comm() { return comm_; }

  [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }

  /// Copies values into memory of the rank's device, in the order of its stream.
  template <class T>
  T* upload(std::vector<T> const& values) {
    auto const bytes = static_cast<std::int64_t>(values.size() * sizeof(T));
    blocks_.emplace_back(bytes + 16, "test");  // NCCL's kernels read whole words at the end
    auto* const address = static_cast<T*>(blocks_.back().get());
    if constexpr (requires { comm_.register_memory(nullptr, std::int64_t{}); }) {
      if (registers_) {
        comm_.register_memory(blocks_.back().get(), blocks_.back().size());
      }
    }
    if (bytes > 0) {
      check_cuda(cudaMemcpyAsync(address,
                                 values.data(),
                                 static_cast<std::size_t>(bytes),
                                 cudaMemcpyHostToDevice,
                                 stream()),
                 "cudaMemcpyAsync");
    }
    check_cuda(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
    return address;
  }

  /// Copies n values back, after everything in the rank's stream.
  template <class T>
  std::vector<T> download(T const* from, std::int64_t n) {
    std::vector<T> values(static_cast<std::size_t>(n));
    if (n > 0) {
      check_cuda(
          cudaMemcpyAsync(
              values.data(), from, values.size() * sizeof(T), cudaMemcpyDeviceToHost, stream()),
          "cudaMemcpyAsync");
    }
    check_cuda(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
    return values;
  }

 private:
  gpu::device_guard guard_;
  gpu::stream stream_;
  std::vector<gpu::memory> blocks_;
  bool registers_;
  Communicator comm_;  // dies first, and waits for its operations
};

}  // namespace zero::test
