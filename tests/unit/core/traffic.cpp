// SPDX-License-Identifier: Apache-2.0
#include <zero/core/traffic.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

using zero::collective;
using zero::traffic;

static_assert(std::is_trivially_copyable_v<traffic>);
static_assert(zero::detail::sent_bytes(collective::all_gather, 10, 4, false) == 30);
static_assert(zero::detail::sent_bytes(collective::all_to_others, 10, 4, false) == 30);
static_assert(zero::detail::sent_bytes(collective::reduce_scatter, 10, 4, false) == 30);
static_assert(zero::detail::sent_bytes(collective::all_reduce, 10, 4, false) == 15);
static_assert(zero::detail::sent_bytes(collective::all_reduce, 10, 3, false) == 13);  // 13.3
static_assert(zero::detail::sent_bytes(collective::broadcast, 10, 4, true) == 30);
static_assert(zero::detail::sent_bytes(collective::broadcast, 10, 4, false) == 0);
// No overflow on the way for buffers of exabytes.
static_assert(zero::detail::sent_bytes(collective::all_reduce, std::int64_t{1} << 61, 2, false) ==
              std::int64_t{1} << 61);

TEST_CASE("traffic: a world of one rank counts nothing") {
  zero::detail::traffic_counters counters;
  counters.add(collective::all_gather, 100, 1);
  CHECK(counters.read() == traffic{});
}

TEST_CASE("traffic: calls and bytes are kept apart by collective and can be subtracted") {
  zero::detail::traffic_counters counters;
  counters.add(collective::all_gather, 100, 3);
  traffic const before = counters.read();
  counters.add(collective::all_gather, 1, 3);
  counters.add(collective::broadcast, 8, 3, false);
  traffic const sent = counters.read() - before;
  CHECK(before[collective::all_gather] == traffic::entry{1, 200});
  CHECK(sent[collective::all_gather] == traffic::entry{1, 2});
  CHECK(sent[collective::broadcast] == traffic::entry{1, 0});
  CHECK(sent[collective::all_reduce] == traffic::entry{});
  CHECK(sent.total() == traffic::entry{2, 2});
}

TEST_CASE("traffic: counters may be read while another thread counts") {
  zero::detail::traffic_counters counters;
  std::thread writer([&] {
    for (int i = 0; i < 1000; ++i) {
      counters.add(collective::all_to_others, 5, 2);
    }
  });
  std::int64_t last = 0;
  bool grows = true;
  for (int i = 0; i < 1000; ++i) {
    std::int64_t const now = counters.read()[collective::all_to_others].count;
    grows = grows && now >= last;
    last = now;
  }
  writer.join();
  CHECK(grows);
  CHECK(counters.read()[collective::all_to_others] == traffic::entry{1000, 5000});
}

TEST_CASE("traffic: every collective has a name of its own") {
  std::vector<std::string> names;
  names.reserve(zero::collective_count);
  for (int i = 0; i < zero::collective_count; ++i) {
    names.emplace_back(name(static_cast<collective>(i)));
  }
  CHECK(names == std::vector<std::string>{
                     "all_gather", "all_to_others", "reduce_scatter", "all_reduce", "broadcast"});
}
