// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/gpu/detail/local_transport.cuh>

#include <zero/comm/detail/local_meeting.hpp>
#include <zero/core/error.hpp>
#include <zero/device/gpu/memory.hpp>
#include <zero/device/gpu/stream.hpp>

#include <doctest/doctest.h>

#include <cuda_runtime_api.h>

#include <chrono>
#include <memory>
#include <vector>

using namespace std::chrono_literals;
using zero::detail::local_gpu_transport;
using zero::detail::local_meeting;
using zero::detail::local_seats;

static_assert(zero::transport<local_gpu_transport>);

// The laws, with counters and checks, are in the tests of local_gpu_communicator.

TEST_CASE("a rank alone moves its own bytes, without the shell around it, and leaves") {
  auto const seats =
      std::make_shared<local_seats>(std::make_shared<local_meeting>(1, 10s), std::vector<int>{0});
  local_gpu_transport by(seats, 0);
  CHECK_THROWS_AS(local_gpu_transport(seats, 0), zero::logic_error);
  CHECK(by.rank() == 0);
  CHECK(by.size() == 1);
  CHECK(by.device() == 0);
  zero::gpu::stream const stream(zero::gpu::stream_priority::normal);
  zero::gpu::memory const memory(512, "test");
  auto* const bytes = static_cast<char*>(memory.get());
  zero::check_cuda(cudaMemsetAsync(bytes, 7, 256, stream.get()), "cudaMemsetAsync");
  by.all_gather(stream.get(), {.sequence = 1}, bytes, bytes + 256, 256);
  std::vector<char> got(256);
  zero::check_cuda(
      cudaMemcpyAsync(got.data(), bytes + 256, 256, cudaMemcpyDeviceToHost, stream.get()),
      "cudaMemcpyAsync");
  zero::check_cuda(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
  CHECK(got == std::vector<char>(256, 7));
  by.finish();
  CHECK_THROWS_AS(by.all_gather(stream.get(), {.sequence = 2}, bytes, bytes, 1), zero::logic_error);
}
