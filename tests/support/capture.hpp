// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/device/gpu/error.hpp>
#include <zero/device/gpu/graph.hpp>

#include <cuda_runtime_api.h>

namespace zero::test {

/// The graph of what `f()` puts into a stream, or into others that it makes wait for that one.
template <class F>
[[nodiscard]] gpu::graph capture(cudaStream_t stream,
                                 F&& f,
                                 cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal) {
  check_cuda(cudaStreamBeginCapture(stream, mode), "cudaStreamBeginCapture");
  f();
  cudaGraph_t captured = nullptr;
  check_cuda(cudaStreamEndCapture(stream, &captured), "cudaStreamEndCapture");
  return gpu::graph(captured);
}

}  // namespace zero::test
