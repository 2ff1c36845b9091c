// SPDX-License-Identifier: Apache-2.0
#include <zero/device/detail/host_queue.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

using namespace std::chrono_literals;
using zero::detail::host_queue;
using zero::detail::host_task;

static_assert(!std::is_copy_constructible_v<host_queue>);
static_assert(std::is_trivially_copyable_v<host_task>);

namespace {

bool never() {
  return false;
}

}  // namespace

TEST_CASE("a task carries its body byte by byte") {
  std::array<int, 50> numbers{};
  numbers[49] = 7;
  int result = 0;
  host_task task;
  task.assign([numbers, out = &result] { *out = numbers[49]; });
  host_task copy = task;
  copy.run(copy.body.data());
  CHECK(result == 7);
}

TEST_CASE("tasks run in order, by one thread that is not the producer") {
  std::vector<int> order;
  std::vector<std::thread::id> threads;
  {
    host_queue queue(3);
    for (int i = 0; i < 1000; ++i) {
      queue.push([&order, &threads, i] {
        order.push_back(i);
        threads.push_back(std::this_thread::get_id());
      });
    }
    queue.await(queue.issued(), never);
    CHECK(order.size() == 1000);
  }
  bool in_order = true;
  bool same_thread = true;
  for (int i = 0; i < 1000; ++i) {
    in_order = in_order && order[static_cast<std::size_t>(i)] == i;
    same_thread = same_thread && threads[static_cast<std::size_t>(i)] == threads[0];
  }
  CHECK(in_order);
  CHECK(same_thread);
  CHECK(threads[0] != std::this_thread::get_id());
}

TEST_CASE("a full ring holds its producer up and loses nothing") {
  std::atomic<bool> open{false};
  std::atomic<int> ran{0};
  std::atomic<int> pushed{0};
  host_queue queue(2);
  std::thread producer([&] {
    for (int i = 0; i < 10; ++i) {
      queue.push([&] {
        while (!open) {
          std::this_thread::sleep_for(1ms);
        }
        ++ran;
      });
      ++pushed;
    }
  });
  std::this_thread::sleep_for(30ms);
  CHECK(pushed == 2);
  CHECK(ran == 0);
  open = true;
  producer.join();
  queue.await(10, never);
  CHECK(ran == 10);
}

TEST_CASE("a ticket is reached when everything up to it has run, and not before") {
  std::atomic<bool> open{false};
  host_queue queue(8);
  CHECK(queue.issued() == 0);
  CHECK(queue.reached(0));
  queue.push([] {});
  std::uint64_t const first = queue.issued();
  queue.push([&] {
    while (!open) {
      std::this_thread::sleep_for(1ms);
    }
  });
  std::uint64_t const second = queue.issued();
  queue.await(first, never);
  CHECK(queue.reached(first));
  CHECK_FALSE(queue.reached(second));
  std::thread opener([&] {
    std::this_thread::sleep_for(10ms);
    open = true;
  });
  queue.await(second, never);
  CHECK(queue.reached(second));
  opener.join();
}

TEST_CASE("many may wait for one ticket") {
  std::atomic<bool> open{false};
  std::atomic<int> through{0};
  host_queue queue(8);
  queue.push([&] {
    while (!open) {
      std::this_thread::sleep_for(1ms);
    }
  });
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      queue.await(1, never);
      ++through;
    });
  }
  std::this_thread::sleep_for(10ms);
  CHECK(through == 0);
  open = true;
  for (auto& thread : threads) {
    thread.join();
  }
  CHECK(through == 4);
}

TEST_CASE("whoever waits may give up when he is woken") {
  std::atomic<bool> open{false};
  std::atomic<bool> give_up{false};
  host_queue queue(8);
  queue.push([&] {
    while (!open) {
      std::this_thread::sleep_for(1ms);
    }
  });
  std::thread waker([&] {
    std::this_thread::sleep_for(10ms);
    give_up = true;
    queue.wake();
  });
  queue.await(1, [&] { return give_up.load(); });
  CHECK_FALSE(queue.reached(1));
  open = true;
  waker.join();
}

TEST_CASE("what is still in the ring runs before the queue ends") {
  std::atomic<int> ran{0};
  {
    host_queue queue(100);
    queue.push([] { std::this_thread::sleep_for(10ms); });
    for (int i = 0; i < 50; ++i) {
      queue.push([&] { ++ran; });
    }
  }
  CHECK(ran == 50);
}
