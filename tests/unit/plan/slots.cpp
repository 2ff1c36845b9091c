// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/slots.hpp>

#include "random_plan.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace {

using zero::slot_interval;

std::int64_t total(std::vector<std::int64_t> const& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
}

/// The most bytes that are reserved at one point: no assignment can do with fewer.
std::int64_t floor_bytes(std::vector<slot_interval> const& v, int ahead) {
  std::int64_t most = 0;
  for (auto const& at : v) {
    std::int64_t sum = 0;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(v.size()); ++i) {
      auto const from = v[static_cast<std::size_t>(std::max(0, i - ahead))].open;
      sum += from <= at.open && at.open <= v[static_cast<std::size_t>(i)].close
                 ? v[static_cast<std::size_t>(i)].bytes
                 : 0;
    }
    most = std::max(most, sum);
  }
  return most;
}

std::vector<slot_interval> sequence(std::vector<std::int64_t> const& sizes) {
  std::vector<slot_interval> v;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(sizes.size()); ++i) {
    v.push_back({i, 2 * i + 1, 2 * i + 2, sizes[static_cast<std::size_t>(i)]});
  }
  return v;
}

TEST_CASE("intervals of one slot do not touch each other's reservation, and fit") {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    std::vector<slot_interval> v;
    std::int32_t point = 1;
    int const count = static_cast<int>(random() % 12);
    for (int i = 0; i < count; ++i) {
      auto const open = point;
      point += 1 + static_cast<std::int32_t>(random() % 3);
      auto const length = 1 + static_cast<std::int32_t>(random() % 9);
      v.push_back({i, open, open + length, static_cast<std::int64_t>(1 + random() % 1000)});
    }
    int const ahead = static_cast<int>(random() % 4);
    auto const sizes = zero::assign_slots(v, ahead);
    CHECK(std::is_sorted(sizes.rbegin(), sizes.rend()));
    auto reserved = [&](std::int32_t i) {
      return v[static_cast<std::size_t>(std::max(0, i - ahead))].open;
    };
    std::vector<std::int64_t> largest(sizes.size(), 0);
    std::vector<int> heads(sizes.size(), 0);
    for (std::int32_t i = 0; i < count; ++i) {
      auto const& a = v[static_cast<std::size_t>(i)];
      REQUIRE(a.slot >= 0);
      REQUIRE(a.slot < static_cast<std::int32_t>(sizes.size()));
      largest[static_cast<std::size_t>(a.slot)] =
          std::max(largest[static_cast<std::size_t>(a.slot)], a.bytes);
      heads[static_cast<std::size_t>(a.slot)] += a.head ? 1 : 0;
      for (std::int32_t j = i + 1; j < count; ++j) {
        auto const& b = v[static_cast<std::size_t>(j)];
        if (b.slot == a.slot) {
          CHECK(a.close < reserved(j));
        }
      }
      if (a.next >= 0) {
        CHECK(v[static_cast<std::size_t>(a.next)].slot == a.slot);
        CHECK(a.next > i);
      }
    }
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      CHECK(largest[s] == sizes[s]);
      CHECK(heads[s] == 1);
    }
    CHECK(total(sizes) >= floor_bytes(v, ahead));
  }
}

TEST_CASE("equal units take exactly what is open and prefetched") {
  for (int const layers : {1, 2, 8, 64}) {
    for (int ahead = 0; ahead <= 3; ++ahead) {
      auto v = sequence(std::vector<std::int64_t>(static_cast<std::size_t>(layers), 100));
      CHECK(total(zero::assign_slots(v, ahead)) == 100 * std::min(layers, 1 + ahead));
      CHECK(total(zero::assign_slots(v, ahead)) == floor_bytes(v, ahead));
    }
  }
}

TEST_CASE("an embedding and a head of four blocks' size cost at most a quarter over the floor") {
  for (int const layers : {8, 9, 64}) {
    for (int const ahead : {1, 2}) {
      std::vector<std::int64_t> sizes(static_cast<std::size_t>(layers + 2), 100);
      sizes.front() = 400;
      sizes.back() = 400;
      auto v = sequence(sizes);
      auto const bytes = total(zero::assign_slots(v, ahead));
      CAPTURE(layers);
      CAPTURE(ahead);
      CHECK(bytes * 4 <= floor_bytes(v, ahead) * 5);
    }
  }
}

TEST_CASE("nothing takes nothing") {
  std::vector<slot_interval> none;
  CHECK(zero::assign_slots(none, 2).empty());
}

}  // namespace
