// SPDX-License-Identifier: Apache-2.0
#include <zero/device/gpu/stamps.hpp>

#include <zero/device/gpu/stream.hpp>

#include <doctest/doctest.h>

TEST_CASE("stamps of a GPU tell the time between them in its stream") {
  zero::gpu::stream const stream(zero::gpu::stream_priority::normal);
  zero::time_stamps<cudaStream_t> stamps(2);
  stamps.set(0, stream.get());
  stamps.set(1, stream.get());
  zero::check_cuda(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
  CHECK(stamps.microseconds(0, 1) >= 0);
}
