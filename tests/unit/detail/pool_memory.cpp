// SPDX-License-Identifier: Apache-2.0
#include <zero/detail/pool_memory.hpp>

#include "tests/unit/plan/random_plan.hpp"

#include <zero/core/error.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

using zero::detail::pool_memory;

/// Memory that remembers what was taken and given back, and refuses one pool.
class ledger {
 public:
  void* allocate(std::int64_t bytes, char const* pool) {
    if (pool == refused) {
      throw zero::out_of_memory(bytes, pool, "the ledger refuses it");
    }
    auto block = std::make_unique<std::byte[]>(static_cast<std::size_t>(bytes));
    void* const address = block.get();
    taken[address] = bytes;
    blocks_.push_back(std::move(block));
    return address;
  }

  void deallocate(void* address, std::int64_t bytes) noexcept {
    if (taken[address] != bytes) {
      wrong_size = true;
    }
    taken.erase(address);
  }

  std::map<void*, std::int64_t> taken;
  std::string refused;
  bool wrong_size = false;

 private:
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
};

TEST_CASE("each pool is one allocation of what the plan says, given back at the end") {
  std::mt19937 random(81);
  for (int round = 0; round < 100; ++round) {
    auto const plan = zero::test::draw_case(random).plan();
    ledger device;
    {
      pool_memory const memory(device, plan, 0);
      std::size_t pools = 0;
      for (std::size_t p = 0; p < zero::pool_count; ++p) {
        auto const id = static_cast<zero::pool>(p);
        CHECK(memory.allocated_bytes(id) == plan.pools.bytes[p]);
        if (plan.pools.bytes[p] > 0) {
          ++pools;
          CHECK(device.taken.at(memory.base(id)) == plan.pools.bytes[p]);
        }
      }
      CHECK(device.taken.size() == pools);
    }
    CHECK(device.taken.empty());
    CHECK_FALSE(device.wrong_size);
  }
}

TEST_CASE("a plan that is wrong by one granule, either way, is caught in every pool") {
  std::mt19937 random(82);
  for (int round = 0; round < 20; ++round) {
    auto const plan = zero::test::draw_case(random).plan();
    for (std::size_t p = 0; p < zero::pool_count; ++p) {
      for (std::int64_t const granule : {-256, 256}) {
        auto wrong = plan;
        wrong.pools.bytes[p] += granule;
        ledger device;
        CHECK_THROWS_AS(pool_memory(device, wrong, 0), zero::logic_error);
        CHECK(device.taken.empty());
      }
    }
  }
}

TEST_CASE("out of memory names the pool and the plan, and keeps nothing") {
  std::mt19937 random(83);
  auto const plan = zero::test::draw_case(random).plan();
  for (std::size_t p = 0; p < zero::pool_count; ++p) {
    if (plan.pools.bytes[p] == 0) {
      continue;
    }
    ledger device;
    device.refused = zero::name(static_cast<zero::pool>(p));
    try {
      pool_memory const memory(device, plan, 0);
      FAIL("the pool was refused");
    } catch (zero::out_of_memory const& error) {
      CHECK(error.pool() == device.refused);
      CHECK(error.bytes() == plan.pools.bytes[p]);
      std::string const text = error.what();
      CHECK(text.find(device.refused) != std::string::npos);
      CHECK(text.find("stage " + std::to_string(plan.config.stage)) != std::string::npos);
    }
    CHECK(device.taken.empty());
  }
}

TEST_CASE("what a rank owns of all ranges lies inside the pools, and the ranks' parts tile them") {
  std::mt19937 random(84);
  for (int round = 0; round < 100; ++round) {
    auto const plan = zero::test::draw_case(random).plan();
    auto const world = plan.config.world;
    for (auto const& range : plan.layout.ranges) {
      std::int64_t next = 0;
      for (int rank = 0; rank < world; ++rank) {
        ledger device;
        pool_memory const memory(device, plan, rank);
        auto const first = memory.owned_begin(range);
        auto const count = memory.owned_elements(range);
        if (memory.unit_of(range).optimizer_sharded) {
          CHECK(first == next);
          next = first + count;
        } else {
          CHECK(first == 0);
          next = count;
        }
        auto const* const pool = memory.base(zero::pool::parameters);
        auto const bytes = count * zero::bytes_of(range.type);
        if (bytes > 0) {
          auto const* const begin = memory.owned_parameters(range);
          CHECK(begin >= pool);
          CHECK(begin + bytes <= pool + memory.allocated_bytes(zero::pool::parameters));
        }
      }
      CHECK(next == range.elements);
    }
  }
}

}  // namespace
