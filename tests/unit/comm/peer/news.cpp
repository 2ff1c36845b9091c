// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/peer/news.hpp>

#include "tests/support/gather_tag.hpp"
#include "tests/support/text.hpp"

#include <zero/core/error.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <exception>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using zero::peer_news;
using zero::detail::local_place;
using zero::detail::peer_board;
using zero::test::contains;

namespace {

/// The boards of all ranks, in one process.
std::vector<peer_board> boards(int ranks) {
  std::string const name = peer_board::new_name();
  std::vector<peer_board> result;
  result.push_back(peer_board::make(name, 0, ranks));
  for (int rank = 1; rank < ranks; ++rank) {
    result.push_back(peer_board::open(name, rank, ranks));
  }
  peer_board::remove(name);
  return result;
}

/// A rank at "gather 'blocks.3' of step 4".
local_place gathering() {
  local_place here;
  here.assign(zero::test::gather_tag(1), zero::collective::all_gather);
  return here;
}

}  // namespace

TEST_CASE("a failure is heard by the others as an error of their own place, and by nobody twice") {
  auto all = boards(3);
  peer_news const first(all[0]);
  peer_news second(all[1]);
  auto const heard = [](peer_news const& news) {
    std::vector<std::string> result;
    news.hear(
        4, "head", "gather", [&](std::exception_ptr const& error, int origin, auto const& why) {
          try {
            std::rethrow_exception(error);
          } catch (zero::peer_error const& failure) {
            CHECK(failure.rank() == origin);
            CHECK(failure.step() == 4);
            CHECK(std::string(failure.unit()) == "head");
            CHECK(std::string(failure.operation()) == "gather");
            result = {failure.what(), why};
          }
        });
    return result;
  };
  CHECK_FALSE(first.any_failed());
  CHECK(heard(first).empty());
  second.tell(2, "the disk is full");  // of rank 2, which could not say so itself
  second.tell(1, "a later reason changes nothing");
  CHECK(first.any_failed());
  auto const told = heard(first);
  REQUIRE(told.size() == 2);
  CHECK(contains(told[0], "rank 2 has failed: the disk is full"));
  CHECK(told[1] == "the disk is full");
  CHECK(heard(second).empty());  // its own
}

TEST_CASE("whoever waits for another rank's device is let go by release") {
  auto all = boards(2);
  peer_news news(all[0]);
  CHECK(all[1].released(peer_board::flag::moves, 1, 0).load() == 0);
  news.release();
  CHECK(all[1].released(peer_board::flag::moves, 1, 0).load() != 0);
  CHECK(all[1].released(peer_board::flag::reads, 0, 1).load() != 0);
}

TEST_CASE("a rank that has left is missed after a while, with the place where it is wanted") {
  auto all = boards(3);
  peer_news mine(all[0]);
  peer_news gone(all[2]);
  auto const start = peer_news::clock::now();
  CHECK(mine.gone_for_long(start) == -1);
  gone.leave();
  CHECK(mine.gone_for_long(start + 1s) == -1);
  CHECK(mine.gone_for_long(start + 1s + peer_news::grace - 1ns) == -1);
  CHECK(mine.gone_for_long(start + 1s + peer_news::grace) == 2);
  try {
    mine.throw_departure(gathering(), 2);
  } catch (zero::peer_error const& error) {
    CHECK(contains(error.what(), "rank 2 has left, but rank 0 is at gather 'blocks.3' of step 4"));
    CHECK(error.rank() == 2);
    CHECK(std::string(error.unit()) == "blocks.3");
  }
}

TEST_CASE("a rank whose process has ended without a word is missed at once, others are not") {
  auto all = boards(3);
  peer_news const mine(all[0]);
  peer_news other(all[1]);
  CHECK_NOTHROW(mine.expect_no_death(gathering()));
  other.leave();
  all.pop_back();  // what a process lets go when it ends
  try {
    mine.expect_no_death(gathering());
    FAIL("no exception");
  } catch (zero::peer_error const& error) {
    CHECK(contains(error.what(),
                   "the process of rank 2 has ended; rank 0 was at gather 'blocks.3' of step 4"));
    CHECK(error.rank() == 2);
  }
  auto two = boards(2);
  peer_news const last(two[0]);
  peer_news(two[1]).leave();
  two.pop_back();
  CHECK_NOTHROW(last.expect_no_death(gathering()));
}
