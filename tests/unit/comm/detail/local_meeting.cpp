// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/detail/local_meeting.hpp>

#include "tests/support/rank_threads.hpp"
#include "tests/support/text.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <type_traits>

using namespace std::chrono_literals;
using zero::detail::local_meeting;
using zero::test::contains;
using zero::test::errors_of_ranks;

static_assert(!std::is_copy_constructible_v<local_meeting>);

TEST_CASE("what a rank publishes is seen by all until all have closed") {
  int const ranks = 4;
  local_meeting meeting(ranks, 10s);
  std::array<std::int64_t, 4> buffers{};
  std::atomic<int> wrong{0};
  auto const errors = errors_of_ranks(ranks, [&](int rank) {
    auto& mine = buffers[static_cast<std::size_t>(rank)];
    for (std::int64_t round = 0; round < 500; ++round) {
      mine = round * 10 + rank;
      meeting.open(rank, {}, {.send = &mine, .bytes = 8});
      for (int other = 0; other < ranks; ++other) {
        auto const* const theirs = static_cast<std::int64_t const*>(meeting.call(other).send);
        wrong += *theirs == round * 10 + other ? 0 : 1;
      }
      meeting.close(rank);
    }
  });
  for (auto const& error : errors) {
    CHECK(error.empty());
  }
  CHECK(wrong == 0);
}

TEST_CASE("buffers may change between two reading phases of one call") {
  int const ranks = 3;
  local_meeting meeting(ranks, 10s);
  std::array<int, 3> buffers{};
  std::atomic<int> wrong{0};
  auto const errors = errors_of_ranks(ranks, [&](int rank) {
    int& mine = buffers[static_cast<std::size_t>(rank)];
    for (int round = 0; round < 200; ++round) {
      mine = -1;
      meeting.open(rank, {}, {.send = &mine});
      meeting.close(rank, true);
      mine = round + rank;  // in a phase in which nobody reads
      meeting.close(rank, true);
      for (int other = 0; other < ranks; ++other) {
        wrong += *static_cast<int const*>(meeting.call(other).send) == round + other ? 0 : 1;
      }
      meeting.close(rank);
    }
  });
  for (auto const& error : errors) {
    CHECK(error.empty());
  }
  CHECK(wrong == 0);
}

TEST_CASE("a rank that fails while others read waits for them") {
  local_meeting meeting(2, 10s);
  std::atomic<bool> reading{false};
  std::atomic<bool> read{false};
  std::atomic<bool> returned_early{false};
  auto const errors = errors_of_ranks(2, [&](int rank) {
    meeting.open(rank, {}, {});
    if (rank == 0) {
      while (!reading) {
        std::this_thread::sleep_for(1ms);
      }
      meeting.abort(1, "boom");
      try {
        meeting.close(0);
      } catch (...) {
        returned_early = !read;
        throw;
      }
    } else {
      reading = true;
      std::this_thread::sleep_for(50ms);
      read = true;
      meeting.close(1);
    }
  });
  CHECK_FALSE(returned_early);
  CHECK(contains(errors[0], "boom"));
  CHECK(contains(errors[1], "boom"));
}

TEST_CASE("a call that all have closed has succeeded, whatever happens next") {
  for (int round = 0; round < 200; ++round) {
    local_meeting meeting(3, 10s);
    auto const errors = errors_of_ranks(3, [&](int rank) {
      meeting.open(rank, {}, {});
      meeting.close(rank);
      if (rank == 1) {
        meeting.leave(rank);
      }
    });
    for (auto const& error : errors) {
      CHECK(error.empty());
    }
  }
}

TEST_CASE("a seat is given out once, and to ranks only") {
  local_meeting meeting(2, 1s);
  meeting.take_seat(1);
  CHECK_THROWS_AS(meeting.take_seat(1), zero::logic_error);
  CHECK_THROWS_AS(meeting.take_seat(2), zero::logic_error);
  CHECK_THROWS_AS(meeting.take_seat(-1), zero::logic_error);
}

TEST_CASE("the duplicates of the ranks are one world each, with the same stall limit") {
  local_meeting meeting(2, 77ms);
  auto const first = meeting.duplicate(0);
  auto const second = meeting.duplicate(0);
  CHECK(first != second);
  CHECK(meeting.duplicate(1) == first);
  CHECK(meeting.duplicate(1) == second);
  CHECK(first->size() == 2);
  CHECK(first->stall_limit() == 77ms);
  meeting.abort(1, "boom");
  CHECK_THROWS_AS(first->check(0), zero::peer_error);
  CHECK_THROWS_AS(static_cast<void>(meeting.duplicate(0)), zero::peer_error);
}
