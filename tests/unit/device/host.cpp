// SPDX-License-Identifier: Apache-2.0
#include <zero/device/host.hpp>

#include "tests/laws/device.hpp"
#include "tests/support/count_allocations.hpp"
#include "tests/support/host_lab.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

using namespace std::chrono_literals;
using zero::host_device;
using zero::host_stream;
using zero::queue;

static_assert(zero::device<host_device>);
static_assert(zero::policy_of<zero::Host, zero::device_category>);
static_assert(std::is_same_v<zero::Host::device, host_device>);
static_assert(std::is_same_v<host_device::kernels, zero::host_kernels>);
static_assert(!std::is_copy_constructible_v<host_device>);

namespace {

void wait_for(std::atomic<bool> const& flag) {
  while (!flag) {
    std::this_thread::sleep_for(1ms);
  }
}

}  // namespace

TEST_CASE("the laws of devices hold for the host") {
  zero::test::host_lab lab;
  SUBCASE("with threads") {}
  SUBCASE("with threads and hardly any room in the rings") {
    lab.options.ring_tasks = 1;
  }
  SUBCASE("inline") {
    lab.options.asynchronous = false;
  }
  zero::laws::device_laws(lab);
}

TEST_CASE("compute runs on the calling thread, the other queues on one thread each") {
  host_device device(0);
  std::array<std::thread::id, zero::queue_count> threads;
  for (queue const q : zero::laws::all_queues) {
    device.enqueue(q, [to = &threads[static_cast<std::size_t>(q)]](host_stream) {
      *to = std::this_thread::get_id();
    });
  }
  device.finish();
  CHECK(threads[0] == std::this_thread::get_id());
  CHECK(threads[1] != threads[0]);
  CHECK(threads[2] != threads[0]);
  CHECK(threads[1] != threads[2]);
}

TEST_CASE("without asynchrony everything has run when enqueue returns") {
  host_device device(0, {.asynchronous = false});
  int ran = 0;
  for (queue const q : zero::laws::all_queues) {
    device.enqueue(q, [&ran](host_stream) { ++ran; });
  }
  CHECK(ran == 3);
}

TEST_CASE("a wait does not see records that come after it") {
  host_device device(2);
  std::atomic<bool> reduced{false};
  device.enqueue(queue::comm, [](host_stream) {});
  device.record(queue::comm, 0);
  device.wait(queue::reduce, 0);
  // If the wait saw the next record, both queues would wait for each other for ever.
  device.enqueue(queue::comm, [&](host_stream) { wait_for(reduced); });
  device.record(queue::comm, 0);
  device.enqueue(queue::reduce, [&](host_stream) { reduced = true; });
  device.finish();
  CHECK(reduced);
}

TEST_CASE("a wait on compute blocks the caller until the event is done") {
  host_device device(1);
  int written = 0;  // not atomic: the wait orders it
  device.enqueue(queue::comm, [&](host_stream) {
    std::this_thread::sleep_for(20ms);
    written = 1;
  });
  device.record(queue::comm, 0);
  device.wait(queue::compute, 0);
  CHECK(written == 1);
}

TEST_CASE("a wait that an earlier one implies still orders") {
  host_device device(2);
  std::vector<int> log;
  for (int i = 0; i < 100; ++i) {
    device.enqueue(queue::comm, [&log, i](host_stream) { log.push_back(i); });
    device.record(queue::comm, 0);
    device.record(queue::comm, 1);
    device.wait(queue::reduce, 0);
    device.wait(queue::reduce, 1);
    device.enqueue(queue::reduce, [&log, i](host_stream) { log.push_back(-i); });
    device.record(queue::reduce, 0);
    device.wait(queue::comm, 0);
  }
  device.finish();
  REQUIRE(log.size() == 200);
  bool in_order = true;
  for (std::size_t i = 0; i < 100; ++i) {
    auto const number = static_cast<int>(i);
    in_order = in_order && log[2 * i] == number && log[2 * i + 1] == -number;
  }
  CHECK(in_order);
}

TEST_CASE("any order that records and waits fix is the order that is run, whatever the delays") {
  // Cells are written and read by bodies on random queues; before each body, its queue waits for
  // the last access of each other queue to the cell, as an engine does. The result is that of
  // running the bodies one after the other, and ThreadSanitizer sees each pair of accesses ordered.
  int const cells = 4;
  for (unsigned seed = 0; seed < 12; ++seed) {
    std::mt19937 random(seed);
    std::array<std::uint64_t, cells> values{};
    std::array<std::uint64_t, cells> expected{};
    host_device device(cells * zero::queue_count,
                       {.ring_tasks = 1 + static_cast<std::int64_t>(random() % 20)});
    std::array<std::mt19937, zero::queue_count> delays;
    device.set_delay([&](queue q, zero::host_stream) {
      if (auto& d = delays[static_cast<std::size_t>(q)]; d() % 8 == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(d() % 300));
      }
    });
    for (std::uint64_t i = 1; i < 400; ++i) {
      auto const q = static_cast<queue>(random() % zero::queue_count);
      std::size_t const to = random() % cells;
      std::size_t const from = random() % cells;
      for (std::size_t const cell : {to, from}) {
        for (queue const other : zero::laws::all_queues) {
          device.wait(q, static_cast<int>(cell * zero::queue_count) + static_cast<int>(other));
        }
      }
      device.enqueue(q, [&values, to, from, i](host_stream) {
        values[to] = values[to] * 31 + values[from] + i;
      });
      for (std::size_t const cell : {to, from}) {
        device.record(q, static_cast<int>(cell * zero::queue_count) + static_cast<int>(q));
      }
      expected[to] = expected[to] * 31 + expected[from] + i;
    }
    device.finish();
    CHECK(values == expected);
  }
}

TEST_CASE("nothing is allocated after construction") {
  host_device device(2);
  device.enqueue(queue::comm, [](host_stream) {});
  device.finish();
  std::int64_t const before = zero::test::allocations();
  std::array<std::uint64_t, 20> const large{};
  std::uint64_t sum = 0;
  for (int i = 0; i < 3000; ++i) {  // more than a ring holds
    device.enqueue(queue::comm, [large, to = &sum](host_stream) { *to += large[0] + 1; });
    device.record(queue::comm, 0);
    device.wait(queue::reduce, 0);
    device.enqueue(queue::reduce, [to = &sum](host_stream) { *to += 1; });
    device.record(queue::reduce, 1);
    device.wait(queue::comm, 1);
    device.enqueue(queue::compute, [](host_stream) {});
    device.check();
  }
  device.wait(queue::compute, 1);
  device.finish();
  CHECK(zero::test::allocations() == before);
  CHECK(sum == 6000);
}

TEST_CASE("a failure frees those who wait for a queue that is stuck outside of the device") {
  std::atomic<bool> aborted{false};
  host_device device(1);
  // As an engine does: the failure of one queue aborts the communicator in which another one hangs.
  device.on_failure([&](std::exception_ptr const&) { aborted = true; });
  device.enqueue(queue::comm, [&](host_stream) {
    wait_for(aborted);
    throw std::runtime_error("the consequence");
  });
  device.record(queue::comm, 0);
  device.enqueue(queue::reduce, [](host_stream) {
    std::this_thread::sleep_for(10ms);
    throw std::logic_error("the original");
  });
  device.wait(queue::compute, 0);  // returns though nothing has been done
  CHECK_THROWS_AS(device.check(), std::logic_error);
  device.finish();
  CHECK_THROWS_WITH(device.check(), "the original");
}

TEST_CASE("a wait on compute ends with a failure even while the awaited body still runs") {
  std::atomic<bool> released{false};
  host_device device(1);
  device.enqueue(queue::comm, [&](host_stream) { wait_for(released); });
  device.record(queue::comm, 0);
  device.enqueue(queue::reduce, [](host_stream) {
    std::this_thread::sleep_for(10ms);
    throw std::runtime_error("elsewhere");
  });
  device.wait(queue::compute, 0);
  released = true;
  CHECK_THROWS_WITH(device.check(), "elsewhere");
}

TEST_CASE("bodies that are still queued run before the device ends") {
  std::atomic<int> ran{0};
  {
    host_device device(2);
    // Either queue waits for the other at the end.
    device.enqueue(queue::comm, [&](host_stream) {
      std::this_thread::sleep_for(5ms);
      ++ran;
    });
    device.record(queue::comm, 0);
    device.wait(queue::reduce, 0);
    device.enqueue(queue::reduce, [&](host_stream) { ++ran; });
    device.record(queue::reduce, 1);
    device.wait(queue::comm, 1);
    device.enqueue(queue::comm, [&](host_stream) { ++ran; });
  }
  CHECK(ran == 3);
}

TEST_CASE("a body may be as large as is said") {
  struct alignas(16) body {
    std::array<std::uint64_t, host_device::max_body_bytes / 8 - 2> numbers;
    std::uint64_t* sum;

    void operator()(host_stream) const {
      for (std::uint64_t const number : numbers) {
        *sum += number;
      }
    }
  };

  static_assert(sizeof(body) == host_device::max_body_bytes);
  std::uint64_t sum = 0;
  body large{.numbers = {}, .sum = &sum};
  large.numbers.fill(2);
  host_device device(0);
  device.enqueue(queue::comm, large);
  device.finish();
  CHECK(sum == 2 * large.numbers.size());
}

TEST_CASE("memory that is not there is refused with the pool's name, and counted nowhere") {
  SUBCASE("by a limit") {
    host_device device(0, {.memory_limit = 1000});
    void* const most = device.allocate(900, "first");
    zero::allocation_counters const before = device.allocations();
    try {
      static_cast<void>(device.allocate(101, "the second pool"));
      FAIL("101 bytes are too many");
    } catch (zero::out_of_memory const& error) {
      CHECK(error.bytes() == 101);
      CHECK(std::string(error.pool()) == "the second pool");
    }
    CHECK(device.allocations() == before);
    void* const rest = device.allocate(100, "third");
    device.deallocate(rest, 100);
    device.deallocate(most, 900);
    CHECK(device.allocations().live_bytes == 0);
  }
  SUBCASE("by the system") {
    host_device device(0);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    MESSAGE("skipped: a sanitizer ends the program instead");
#else
    CHECK_THROWS_AS(
        static_cast<void>(device.allocate(std::numeric_limits<std::int64_t>::max() / 2, "huge")),
        zero::out_of_memory);
    CHECK(device.allocations() == zero::allocation_counters{});
#endif
  }
}

TEST_CASE("misuse of a host device is refused by a sentence") {
  CHECK_THROWS_AS(host_device(-1), zero::logic_error);
  CHECK_THROWS_AS(host_device(0, {.ring_tasks = 0}), zero::logic_error);
  host_device device(2);
  CHECK_THROWS_AS(device.record(queue::comm, 2), zero::logic_error);
  CHECK_THROWS_AS(device.wait(queue::comm, -1), zero::logic_error);
  CHECK_THROWS_AS(static_cast<void>(device.allocate(-1, "negative")), zero::logic_error);
}

TEST_CASE("the delay of a test comes before each body, on its thread, and may fail it") {
  host_device device(0);
  std::array<std::atomic<int>, zero::queue_count> calls{};
  device.set_delay([&](queue q, zero::host_stream) {
    if (++calls[static_cast<std::size_t>(q)] == 3) {
      throw std::runtime_error("late");
    }
  });
  int ran = 0;
  for (int i = 0; i < 3; ++i) {
    device.enqueue(queue::reduce, [&ran](host_stream) { ++ran; });
  }
  device.finish();
  CHECK(ran == 2);
  CHECK(calls[static_cast<std::size_t>(queue::reduce)] == 3);
  CHECK_THROWS_WITH(device.check(), "late");
}
