// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/nccl/detail/watchdog.hpp>

#include "tests/gpu/device/gpu/spin.cuh"
#include "tests/support/lone_nccl.hpp"
#include "tests/support/text.hpp"

#include <zero/device/gpu/stream.hpp>

#include <doctest/doctest.h>

#include <cuda_runtime_api.h>

#include <chrono>
#include <exception>
#include <string>
#include <thread>

using namespace std::chrono_literals;
using zero::detail::nccl_handle;
using zero::detail::nccl_watchdog;

namespace {

constexpr zero::collective_tag tag{
    .sequence = 1, .step = 9, .operation_name = "gather", .unit_name = "head"};

/// Waits until the handle has failed; its message, "" after ten seconds.
std::string failure_of(nccl_handle const& handle) {
  for (int i = 0; i < 2000 && !handle.failed(); ++i) {
    std::this_thread::sleep_for(5ms);
  }
  try {
    handle.check();
  } catch (std::exception const& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("an operation that takes too long makes the rank fail") {
  nccl_handle handle(zero::test::lone_nccl(), true);
  nccl_watchdog watchdog(handle, {.limit = 300ms});
  zero::gpu::stream const stream(zero::gpu::stream_priority::normal);
  watchdog.begin(stream.get(), tag, zero::collective::all_gather);
  zero::test::spin(stream.get(), 2000);
  watchdog.end(stream.get());
  auto const told = failure_of(handle);
  CHECK(zero::test::contains(told, "rank 0's gather 'head' of step 9"));
  CHECK(zero::test::contains(told, "within 300 ms"));
  zero::check_cuda(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
}

TEST_CASE("operations that end in time are forgotten, also many of them") {
  nccl_handle handle(zero::test::lone_nccl(), true);
  nccl_watchdog watchdog(handle, {.limit = 2s, .watch_interval = 1ms});
  zero::gpu::stream const stream(zero::gpu::stream_priority::normal);
  for (int i = 0; i < 1000; ++i) {  // more than the watchdog can hold
    watchdog.begin(stream.get(), tag, zero::collective::all_gather);
    zero::test::spin(stream.get(), 1);
    watchdog.end(stream.get());
  }
  zero::check_cuda(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
  std::this_thread::sleep_for(100ms);
  CHECK(watchdog.idle());
  CHECK_FALSE(handle.failed());
}

TEST_CASE("a thread that is stuck inside NCCL makes the rank fail") {
  nccl_handle handle(zero::test::lone_nccl(), true);
  nccl_watchdog watchdog(handle, {.limit = 200ms});
  try {
    handle.inside([&](ncclComm_t) { std::this_thread::sleep_for(700ms); });
  } catch (...) {
  }
  CHECK(zero::test::contains(failure_of(handle), "has been inside a call of NCCL for 200 ms"));
}

TEST_CASE("nothing is recorded in a capture, and captures of any mode survive the watchdog") {
  for (auto const mode : {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal}) {
    nccl_handle handle(zero::test::lone_nccl(), true);
    nccl_watchdog watchdog(handle, {.limit = 5s, .watch_interval = 1ms});
    zero::gpu::stream const busy(zero::gpu::stream_priority::normal);
    watchdog.begin(busy.get(), tag, zero::collective::all_gather);
    zero::test::spin(busy.get(), 300);
    watchdog.end(busy.get());  // so that there is an event to query all the time
    zero::gpu::stream const stream(zero::gpu::stream_priority::normal);
    zero::check_cuda(cudaStreamBeginCapture(stream.get(), mode), "cudaStreamBeginCapture");
    watchdog.begin(stream.get(), tag, zero::collective::all_gather);
    watchdog.end(stream.get());
    std::this_thread::sleep_for(100ms);
    cudaGraph_t captured = nullptr;
    zero::check_cuda(cudaStreamEndCapture(stream.get(), &captured), "cudaStreamEndCapture");
    std::size_t nodes = 99;
    zero::check_cuda(cudaGraphGetNodes(captured, nullptr, &nodes), "cudaGraphGetNodes");
    CHECK(nodes == 0);
    zero::check_cuda(cudaGraphDestroy(captured), "cudaGraphDestroy");
    zero::check_cuda(cudaStreamSynchronize(busy.get()), "cudaStreamSynchronize");
    CHECK_FALSE(handle.failed());
  }
}
