// SPDX-License-Identifier: Apache-2.0
#include <zero/device/gpu/stream.hpp>

#include <zero/device/gpu/error.hpp>

#include <doctest/doctest.h>

#include <cuda_runtime_api.h>

#include <type_traits>
#include <utility>

namespace zero::test {

static_assert(!std::is_copy_constructible_v<gpu::stream>);
static_assert(std::is_nothrow_move_constructible_v<gpu::stream>);
static_assert(std::is_nothrow_move_assignable_v<gpu::stream>);

TEST_CASE("a stream does not synchronise with the default stream and has the priority asked for") {
  gpu::stream const urgent(gpu::stream_priority::greatest);
  gpu::stream const normal(gpu::stream_priority::normal);
  unsigned flags = 0;
  check_cuda(cudaStreamGetFlags(urgent.get(), &flags), "cudaStreamGetFlags");
  CHECK(flags == cudaStreamNonBlocking);
  int high = 0;
  int low = 0;
  check_cuda(cudaStreamGetPriority(urgent.get(), &high), "cudaStreamGetPriority");
  check_cuda(cudaStreamGetPriority(normal.get(), &low), "cudaStreamGetPriority");
  CHECK(high <= low);  // lower numbers are more urgent
}

TEST_CASE("ownership moves, is given up and taken over") {
  CHECK(gpu::stream().get() == nullptr);
  gpu::stream first(gpu::stream_priority::normal);
  cudaStream_t const handle = first.get();
  gpu::stream second(std::move(first));
  CHECK(second.get() == handle);
  first = std::move(second);
  CHECK(first.get() == handle);
  CHECK(first.release() == handle);
  CHECK(first.get() == nullptr);
  gpu::stream const adopted = gpu::stream::from_native_handle(handle);
  CHECK(cudaStreamQuery(adopted.get()) == cudaSuccess);
}

TEST_CASE("a stream is captured between the begin and the end of a capture, and no other one is") {
  gpu::stream const first(gpu::stream_priority::normal);
  gpu::stream const second(gpu::stream_priority::normal);
  CHECK_FALSE(gpu::is_captured(first.get()));
  check_cuda(cudaStreamBeginCapture(first.get(), cudaStreamCaptureModeThreadLocal),
             "cudaStreamBeginCapture");
  CHECK(gpu::is_captured(first.get()));
  CHECK_FALSE(gpu::is_captured(second.get()));
  cudaGraph_t graph = nullptr;
  check_cuda(cudaStreamEndCapture(first.get(), &graph), "cudaStreamEndCapture");
  CHECK_FALSE(gpu::is_captured(first.get()));
  check_cuda(cudaGraphDestroy(graph), "cudaGraphDestroy");
}

TEST_CASE("the default stream cannot be asked while a capture forbids its use") {
  cudaStream_t blocking = nullptr;  // synchronises with the default stream
  check_cuda(cudaStreamCreate(&blocking), "cudaStreamCreate");
  gpu::stream const captured = gpu::stream::from_native_handle(blocking);
  check_cuda(cudaStreamBeginCapture(captured.get(), cudaStreamCaptureModeThreadLocal),
             "cudaStreamBeginCapture");
  CHECK_THROWS_AS(static_cast<void>(gpu::is_captured(cudaStreamLegacy)), cuda_error);
  cudaGraph_t graph = nullptr;
  check_cuda(cudaStreamEndCapture(captured.get(), &graph), "cudaStreamEndCapture");
  check_cuda(cudaGraphDestroy(graph), "cudaGraphDestroy");
}

}  // namespace zero::test
