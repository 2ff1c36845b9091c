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
        CHECK(memory.allocated_bytes(id) == plan.pools.rows[p].bytes);
        if (plan.pools.rows[p].bytes > 0) {
          ++pools;
          CHECK(device.taken.at(memory.base(id)) == plan.pools.rows[p].bytes);
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
        wrong.pools.rows[p].bytes += granule;
        ledger device;
        CHECK_THROWS_AS(pool_memory(device, wrong, 0), zero::logic_error);
        CHECK(device.taken.empty());
      }
    }
  }
}

TEST_CASE("an offset that is wrong by one granule, either way, is caught wherever it is") {
  std::mt19937 random(85);
  std::map<std::string, int> caught;
  for (int round = 0; round < 60; ++round) {
    auto const plan = zero::test::draw_case(random).plan();
    auto const refused = [&](char const* what, auto&& change) {
      for (std::int64_t const sign : {-1, 1}) {
        auto wrong = plan;
        change(wrong, sign);
        ledger device;
        CAPTURE(what);
        CHECK_THROWS_AS(pool_memory(device, wrong, 0), zero::logic_error);
        CHECK(device.taken.empty());
        ++caught[what];
      }
    };
    for (std::size_t r = 0; r < plan.layout.ranges.size(); ++r) {
      auto const move = [&](char const* what, auto zero::unit_range::* offset, std::int64_t by) {
        refused(what, [&](auto& p, std::int64_t sign) { p.layout.ranges[r].*offset += sign * by; });
      };
      move("parameters", &zero::unit_range::parameter_offset, 256);
      move("parameters in a slot", &zero::unit_range::parameter_slot_offset, 256);
      if (!plan.layout.ranges[r].frozen) {
        move("accumulators", &zero::unit_range::accumulator_offset, 256);
        move("gradients in a slot", &zero::unit_range::gradient_slot_offset, 256);
        move("norm blocks", &zero::unit_range::first_block, 1);
        auto const type = plan.layout.ranges[r].type;
        if (zero::state_layout_of(plan.config, type).count > 0) {
          move("state", &zero::unit_range::state_offset, 256);
        }
      }
    }
    for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
      if (plan.layout.places[i].range >= 0) {
        refused("place", [&](auto& p, std::int64_t sign) {
          p.layout.places[i].offset += sign * 256 / zero::bytes_of(p.parameters[i].type);
        });
      }
    }
    for (std::size_t slot = 0; slot < plan.slots.parameters.slot_offsets.size(); ++slot) {
      refused("parameter slot", [&](auto& p, std::int64_t sign) {
        p.slots.parameters.slot_offsets[slot] += sign * 256;
      });
    }
    for (std::size_t slot = 0; slot < plan.slots.gradients.slot_offsets.size(); ++slot) {
      refused("gradient slot", [&](auto& p, std::int64_t sign) {
        p.slots.gradients.slot_offsets[slot] += sign * 256;
      });
    }
    if (plan.pools.receive_bytes > 0) {
      refused("receive", [](auto& p, std::int64_t sign) { p.pools.receive_bytes += sign * 256; });
    }
    for (std::size_t u = 0; u < plan.layout.units.size(); ++u) {
      refused("unit", [&](auto& p, std::int64_t sign) {
        p.layout.units[u].parameter_slot_bytes += sign * 256;
      });
    }
  }
  CHECK(caught.size() == 11);  // each of them was there to be caught
}

TEST_CASE("parts follow one another, or are named") {
  using zero::detail::end_of_parts;
  using parts = std::vector<zero::detail::extent>;
  auto const end = [](parts list, std::int64_t granule) {
    return end_of_parts(list, granule, "a pool");
  };
  CHECK(end({}, 256) == 0);
  CHECK(end({{7, 0}}, 256) == 0);  // of no size
  CHECK(end({{256, 3}, {0, 256}}, 256) == 259);
  CHECK(end({{0, 5}, {256, 5}, {512, 512}}, 256) == 1024);
  CHECK(end({{0, 5}, {5, 6}}, 1) == 11);
  for (parts const& wrong : {parts{{256, 256}},
                             parts{{-256, 512}},
                             parts{{0, 256}, {0, 256}},
                             parts{{0, 512}, {256, 256}},
                             parts{{0, 256}, {512, 256}},
                             parts{{0, 5}, {5, 5}}}) {
    CHECK_THROWS_AS(static_cast<void>(end(wrong, 256)), zero::logic_error);
  }
}

TEST_CASE("out of memory names the pool and the plan, and keeps nothing") {
  std::mt19937 random(83);
  auto const plan = zero::test::draw_case(random).plan();
  for (std::size_t p = 0; p < zero::pool_count; ++p) {
    if (plan.pools.rows[p].bytes == 0) {
      continue;
    }
    ledger device;
    device.refused = zero::name(static_cast<zero::pool>(p));
    try {
      pool_memory const memory(device, plan, 0);
      FAIL("the pool was refused");
    } catch (zero::out_of_memory const& error) {
      CHECK(error.pool() == device.refused);
      CHECK(error.bytes() == plan.pools.rows[p].bytes);
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
        auto const first = memory.places().owned_begin(range);
        auto const count = memory.places().owned_elements(range);
        if (plan.layout.unit_of(range).in.state.sharded()) {
          CHECK(first == next);
          next = first + count;
        } else {
          CHECK(first == 0);
          next = count;
        }
        auto const* const pool = memory.base(zero::pool::parameters);
        auto const bytes = count * zero::bytes_of(range.type);
        if (bytes > 0) {
          auto const* const begin = memory.at(memory.places().owned_parameters(range));
          CHECK(begin >= pool);
          CHECK(begin + bytes <= pool + memory.allocated_bytes(zero::pool::parameters));
        }
      }
      CHECK(next == range.elements);
    }
  }
}

}  // namespace
