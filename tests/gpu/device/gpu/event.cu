// SPDX-License-Identifier: Apache-2.0
#include <zero/device/gpu/event.hpp>

#include "tests/gpu/device/gpu/spin.cuh"

#include <zero/device/gpu/error.hpp>
#include <zero/device/gpu/stream.hpp>

#include <doctest/doctest.h>

#include <cuda_runtime_api.h>

#include <type_traits>
#include <utility>

namespace zero::test {

static_assert(!std::is_copy_constructible_v<gpu::event>);
static_assert(std::is_nothrow_move_constructible_v<gpu::event>);

TEST_CASE("an event that was never recorded is complete") {
  gpu::event const e(gpu::event_timing::off);
  CHECK(e.ready());
  gpu::stream const s(gpu::stream_priority::normal);
  e.make_wait(s.get());
  e.synchronize();
  check_cuda(cudaStreamSynchronize(s.get()), "cudaStreamSynchronize");
}

TEST_CASE("a recorded event is complete when its work is, and orders another stream") {
  gpu::stream const a(gpu::stream_priority::normal);
  gpu::stream const b(gpu::stream_priority::normal);
  gpu::event const first(gpu::event_timing::off);
  gpu::event const second(gpu::event_timing::off);
  spin(a.get(), 50);
  first.record(a.get());
  first.make_wait(b.get());
  second.record(b.get());
  CHECK_FALSE(first.ready());
  CHECK_FALSE(second.ready());
  second.synchronize();
  CHECK(first.ready());
}

TEST_CASE("timed events measure the work between them") {
  gpu::stream const s(gpu::stream_priority::normal);
  gpu::event const from(gpu::event_timing::on);
  gpu::event const to(gpu::event_timing::on);
  from.record(s.get());
  spin(s.get(), 20);
  to.record(s.get());
  to.synchronize();
  CHECK(gpu::milliseconds_between(from, to) >= 19.0F);
}

TEST_CASE("ownership moves, is given up and taken over") {
  gpu::event first(gpu::event_timing::off);
  cudaEvent_t const handle = first.get();
  gpu::event second(std::move(first));
  CHECK(first.get() == nullptr);
  CHECK(second.release() == handle);
  first = gpu::event::from_native_handle(handle);
  CHECK(first.get() == handle);
}

}  // namespace zero::test
