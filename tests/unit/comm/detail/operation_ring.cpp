// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/detail/operation_ring.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using zero::collective;
using zero::detail::operation_ring;

namespace {

std::size_t slot_of(std::optional<std::size_t> slot) {
  if (!slot.has_value()) {
    throw std::runtime_error("no slot");
  }
  return *slot;
}

/// Operations whose begin and end the test decides.
struct device {
  std::vector<char> begun = std::vector<char>(4);
  std::vector<char> ended = std::vector<char>(4);
  operation_ring ring{4};
  operation_ring::clock::time_point now{};

  std::size_t put(std::int64_t step) {
    std::size_t const slot =
        slot_of(ring.reserve({.step = step, .operation_name = "gather"}, collective::all_gather));
    begun.at(slot) = ended.at(slot) = 0;
    ring.commit();
    return slot;
  }

  std::optional<std::size_t> look(std::chrono::milliseconds later) {
    now += later;
    return ring.overdue(
        now,
        100ms,
        [&](std::size_t i) { return begun[i] != 0; },
        [&](std::size_t i) { return ended[i] != 0; });
  }
};

}  // namespace

TEST_CASE("an operation is late when it has begun and not ended within the limit") {
  device d;
  CHECK_FALSE(d.look(1s).has_value());
  auto const first = d.put(7);
  CHECK_FALSE(d.look(1h).has_value());  // it waits for something: nobody's fault
  d.begun[first] = 1;
  CHECK_FALSE(d.look(1h).has_value());  // seen to have begun now
  CHECK_FALSE(d.look(99ms).has_value());
  CHECK(d.look(1ms) == first);
  CHECK(d.ring.place(first).tag.step == 7);
  CHECK(std::string(d.ring.place(first).operation.data()) == "gather");
}

TEST_CASE("each operation has the whole limit, from its own begin") {
  device d;
  auto const first = d.put(1);
  auto const second = d.put(2);
  d.begun[first] = d.begun[second] = 1;
  CHECK_FALSE(d.look(0ms).has_value());
  CHECK_FALSE(d.look(90ms).has_value());
  d.ended[first] = 1;
  CHECK_FALSE(d.look(90ms).has_value());  // the second was first looked at now
  CHECK(d.ring.oldest() == second);
  CHECK(d.look(100ms) == second);
  d.ended[second] = 1;
  CHECK_FALSE(d.look(1h).has_value());
  CHECK_FALSE(d.ring.oldest().has_value());
}

TEST_CASE("a full ring leaves operations out, and takes new ones when old ones have ended") {
  device d;
  for (int i = 0; i < 4; ++i) {
    d.put(i);
  }
  CHECK_FALSE(d.ring.reserve({}, collective::broadcast).has_value());
  d.ended[0] = d.ended[1] = 1;
  CHECK_FALSE(d.look(0ms).has_value());
  CHECK(d.put(4) == 0);
  CHECK(d.put(5) == 1);
  CHECK_FALSE(d.ring.reserve({}, collective::broadcast).has_value());
}

TEST_CASE("a reserved slot is nobody's before it is committed") {
  device d;
  auto const a = d.ring.reserve({.step = 1}, collective::broadcast);
  CHECK_FALSE(d.ring.oldest().has_value());
  auto const b = d.ring.reserve({.step = 2}, collective::broadcast);
  CHECK(a == b);
  d.ring.commit();
  CHECK(d.ring.place(slot_of(d.ring.oldest())).tag.step == 2);
}

TEST_CASE("one thread writes, another one watches") {
  operation_ring ring(8);
  constexpr int operations = 2000;
  std::atomic<bool> written{false};
  std::int64_t seen = 0;
  std::int64_t unwatched = 0;
  std::thread watcher([&] {
    while (!written || ring.oldest().has_value()) {
      std::this_thread::yield();
      static_cast<void>(ring.overdue(
          {},
          1s,
          [](std::size_t) { return true; },
          [&](std::size_t i) {
            seen += ring.place(i).tag.step;
            return true;
          }));
    }
  });
  for (int i = 0; i < operations; ++i) {
    if (ring.reserve({.step = 1}, collective::all_gather).has_value()) {
      ring.commit();
    } else {
      ++unwatched;
      std::this_thread::yield();
    }
  }
  written = true;
  watcher.join();
  CHECK(seen + unwatched == operations);
}
