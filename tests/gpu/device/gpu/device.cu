// SPDX-License-Identifier: Apache-2.0
#include <zero/device/gpu/device.hpp>

#include "tests/gpu/device/gpu/array.hpp"
#include "tests/gpu/device/gpu/spin.cuh"
#include "tests/laws/device.hpp"

#include <zero/core/error.hpp>
#include <zero/core/queue.hpp>
#include <zero/device/concepts.hpp>
#include <zero/device/gpu/graph.hpp>
#include <zero/device/gpu/kernels.cuh>
#include <zero/device/gpu/stream.hpp>
#include <zero/device/transfer.hpp>

#include <doctest/doctest.h>

#include <cuda_runtime_api.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace zero::test {

static_assert(device<cuda_device>);
static_assert(!std::is_copy_constructible_v<cuda_device>);

namespace {

/// What the laws of devices need: devices with streams that outlive them, and a slow body.
class law_lab {
 public:
  [[nodiscard]] std::unique_ptr<cuda_device> make(int events) {
    streams_.emplace_back(gpu::stream_priority::normal);
    return std::make_unique<cuda_device>(events,
                                         cuda_options{.compute_stream = streams_.back().get()});
  }

  [[nodiscard]] static auto slow() {
    return [](cudaStream_t s) { spin(s, 1); };
  }

  // Of a device that has failed as well: not its own members.
  static void write(cuda_device& /*d*/, void* to, void const* from, std::int64_t bytes) {
    check_cuda(cudaMemcpy(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault),
               "cudaMemcpy");
    // A copy from pageable memory may end after the call, and other streams do not wait for it.
    check_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  }

  static void read(cuda_device& d, void* to, void const* from, std::int64_t bytes) {
    write(d, to, from, bytes);
  }

 private:
  std::vector<gpu::stream> streams_;
};

void copy(cuda_device& d, queue q, double* to, double const* from) {
  d.enqueue(q, [=](cudaStream_t s) { gpu_kernels::copy(s, to, from, sizeof(double)); });
}

void keep_busy(cuda_device& d, queue q, int milliseconds) {
  d.enqueue(q, [=](cudaStream_t s) { spin(s, milliseconds); });
}

}  // namespace

TEST_CASE("a GPU obeys the laws of devices") {
  law_lab lab;
  laws::device_laws(lab);
}

TEST_CASE("allocation is aligned and counted, and names its pool when there is none") {
  cuda_device d(0);
  CHECK(d.allocations() == allocation_counters{});
  CHECK(d.allocate(0, "nothing") == nullptr);
  void* const a = d.allocate(1000, "a");
  void* const b = d.allocate(24, "b");
  CHECK(reinterpret_cast<std::uintptr_t>(a) % 256 == 0);
  CHECK(d.allocations() == allocation_counters{.calls = 2, .bytes = 1024, .live_bytes = 1024});
  d.deallocate(a, 1000);
  CHECK(d.allocations() == allocation_counters{.calls = 2, .bytes = 1024, .live_bytes = 24});
  d.deallocate(b, 24);
  CHECK_THROWS_AS(static_cast<void>(d.allocate(std::int64_t{1} << 50, "huge")), out_of_memory);
  CHECK(d.allocations().live_bytes == 0);
}

TEST_CASE("bodies run at once, on the caller's thread, with the queue's stream") {
  gpu::stream const user(gpu::stream_priority::normal);
  cuda_device d(0, {.compute_stream = user.get()});
  CHECK(d.stream(queue::compute) == user.get());
  CHECK(d.stream(queue::comm) != d.stream(queue::reduce));
  for (auto const q : {queue::compute, queue::comm, queue::reduce}) {
    cudaStream_t seen = nullptr;
    d.enqueue(q, [&](cudaStream_t s) { seen = s; });
    CHECK(seen == d.stream(q));
  }
}

TEST_CASE("a chain of records and waits orders three queues") {
  gpu::stream const user(gpu::stream_priority::normal);
  cuda_device d(2, {.compute_stream = user.get()});
  gpu_array<double> const cells(std::vector<double>{42, 0, 0, 0});
  double* const c = cells.data();
  keep_busy(d, queue::compute, 20);
  copy(d, queue::compute, c + 1, c);
  d.record(queue::compute, 0);
  d.wait(queue::comm, 0);
  keep_busy(d, queue::comm, 20);
  copy(d, queue::comm, c + 2, c + 1);
  d.record(queue::comm, 1);
  d.wait(queue::reduce, 1);
  copy(d, queue::reduce, c + 3, c + 2);
  d.finish();
  d.check();
  CHECK(cells.values() == std::vector<double>{42, 42, 42, 42});
}

TEST_CASE("a wait sees the latest record at its own time, and none later") {
  cuda_device d(1);
  d.wait(queue::reduce, 0);  // never recorded
  d.record(queue::comm, 0);
  d.wait(queue::reduce, 0);
  keep_busy(d, queue::comm, 200);
  d.record(queue::comm, 0);
  CHECK(cudaStreamSynchronize(d.stream(queue::reduce)) == cudaSuccess);
  CHECK(cudaStreamQuery(d.stream(queue::comm)) == cudaErrorNotReady);
  static_cast<void>(cudaGetLastError());
  d.wait(queue::reduce, 0);
  CHECK(cudaStreamQuery(d.stream(queue::reduce)) == cudaErrorNotReady);
  static_cast<void>(cudaGetLastError());
  d.finish();
}

TEST_CASE("the first failure is kept and told, and nothing runs after it") {
  cuda_device d(1);
  int told = 0;
  d.on_failure([&](std::exception_ptr const&) { ++told; });
  CHECK_NOTHROW(d.check());
  d.enqueue(queue::comm, [](cudaStream_t) { throw std::runtime_error("first"); });
  d.enqueue(queue::comm, [](cudaStream_t) { throw std::runtime_error("second"); });
  bool ran = false;
  d.enqueue(queue::compute, [&](cudaStream_t) { ran = true; });
  d.record(queue::comm, 0);
  d.wait(queue::reduce, 0);
  CHECK(told == 1);
  CHECK_FALSE(ran);
  CHECK_THROWS_WITH(d.check(), "first");
  d.finish();
}

TEST_CASE("misuse is told in a sentence") {
  CHECK_THROWS_AS(cuda_device(-1), logic_error);
  cuda_device d(1);
  CHECK_THROWS_AS(d.record(queue::comm, 1), logic_error);
  CHECK_THROWS_AS(d.wait(queue::comm, -1), logic_error);
  CHECK_THROWS_AS(d.begin_capture(), logic_error);  // the legacy default stream
  CHECK_THROWS_AS(cuda_device(0, {.ordinal = 12'345}), cuda_error);
}

TEST_CASE("the caller's device stays current, and the device of the options is used") {
  int devices = 0;
  check_cuda(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  cuda_device d(1, {.ordinal = devices - 1});
  CHECK(d.ordinal() == devices - 1);
  void* const p = d.allocate(256, "test");
  int inside = -1;
  d.enqueue(queue::comm, [&](cudaStream_t s) {
    check_cuda(cudaGetDevice(&inside), "cudaGetDevice");
    gpu_kernels::zero(s, p, 256);
  });
  d.record(queue::comm, 0);
  d.wait(queue::compute, 0);
  d.finish();
  d.check();
  d.deallocate(p, 256);
  int current = -1;
  check_cuda(cudaGetDevice(&current), "cudaGetDevice");
  CHECK(current == 0);
  CHECK(inside == devices - 1);
}

TEST_CASE("upload and download come after what is queued, and wait") {
  cuda_device d(0);
  std::int64_t const bytes = 4096;
  void* const p = d.allocate(bytes, "test");
  std::vector<std::uint8_t> const ones(static_cast<std::size_t>(bytes), 1);
  std::vector<std::uint8_t> back(static_cast<std::size_t>(bytes), 9);
  upload(d, p, ones.data(), bytes);
  keep_busy(d, queue::comm, 20);
  d.enqueue(queue::comm, [=](cudaStream_t s) { gpu_kernels::zero(s, p, bytes / 2); });
  download(d, back.data(), p, bytes);
  for (std::size_t i = 0; i < back.size(); ++i) {
    REQUIRE(back[i] == (i < back.size() / 2 ? 0 : 1));
  }
  d.deallocate(p, bytes);
}

TEST_CASE("delays move the queues, and events still order them") {
  cuda_device d(1);
  int delays = 0;
  d.set_delay([&](queue q, cudaStream_t s) {
    ++delays;
    if (q == queue::comm) {
      spin(s, 10);
    }
  });
  gpu_array<double> const cells(std::vector<double>{1, 0, 0});
  double* const c = cells.data();
  copy(d, queue::comm, c + 1, c);
  d.record(queue::comm, 0);
  d.wait(queue::compute, 0);
  copy(d, queue::compute, c + 2, c + 1);
  CHECK(delays == 2);
  CHECK(cells.values() == std::vector<double>{1, 1, 1});
}

TEST_CASE("all queues are captured, and replays run after and before everything else") {
  gpu::stream const user(gpu::stream_priority::normal);
  cuda_device d(3, {.compute_stream = user.get()});
  gpu_array<float> const total(std::vector<float>{0});
  gpu_array<float> const one(std::vector<float>{1});
  gpu_array<float> const two(std::vector<float>{2});
  auto const add = [&](queue q, float* from) {
    d.enqueue(q, [to = total.data(), from](cudaStream_t s) {
      gpu_kernels::accumulate<float, float>(s, from, to, 1, true, 1, nullptr);
    });
  };
  auto const step = [&] {
    d.wait(queue::comm, 2);  // recorded before: on the other side of the border
    add(queue::compute, one.data());
    d.record(queue::compute, 0);
    d.wait(queue::comm, 0);
    add(queue::comm, two.data());
    d.record(queue::comm, 1);
    d.wait(queue::reduce, 1);
    add(queue::reduce, one.data());
    d.record(queue::reduce, 2);
    d.wait(queue::compute, 2);
  };
  step();
  d.begin_capture();
  step();
  gpu::graph const captured = d.end_capture();
  CHECK(captured.nodes() >= 3);
  CHECK(total.values() == std::vector<float>{4});
  keep_busy(d, queue::reduce, 20);
  add(queue::reduce, two.data());
  for (int i = 0; i < 10; ++i) {
    d.launch(captured);
  }
  step();
  d.finish();
  d.check();
  CHECK(total.values() == std::vector<float>{4 + 2 + 40 + 4});
}

TEST_CASE("a capture that fails leaves the streams usable") {
  gpu::stream const user(gpu::stream_priority::normal);
  cuda_device d(0, {.compute_stream = user.get()});
  d.begin_capture();
  CHECK(cudaStreamSynchronize(user.get()) != cudaSuccess);  // not allowed, and spoils the capture
  static_cast<void>(cudaGetLastError());
  CHECK_THROWS_AS(static_cast<void>(d.end_capture()), cuda_error);
  d.begin_capture();
  d.abandon_capture();
  gpu_array<double> const cells(std::vector<double>{5, 0});
  copy(d, queue::comm, cells.data() + 1, cells.data());
  d.finish();
  d.check();
  CHECK(cells.values() == std::vector<double>{5, 5});
}

}  // namespace zero::test
