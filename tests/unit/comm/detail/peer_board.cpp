// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/detail/peer_board.hpp>

#include <zero/core/error.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <cstdint>
#include <set>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using zero::detail::peer_board;
using place = zero::detail::peer_board::place;

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

}  // namespace

TEST_CASE("every pair of ranks has a flag of its own at each place, on all boards the same") {
  for (int const world : {1, 2, 5, 64}) {
    CAPTURE(world);
    auto const all = boards(world);
    std::set<std::int64_t> offsets;
    for (int owner = 0; owner < world; ++owner) {
      for (int from = 0; from < world; ++from) {
        for (place const where : {place::begin, place::end}) {
          auto const offset = all[0].offset_of(owner, where, from);
          bool const fits = offset % 64 == 0 && offset + 64 <= all[0].bytes();
          CHECK(fits);
          offsets.insert(offset);
          auto const value = static_cast<std::uint32_t>(offset);
          all[static_cast<std::size_t>(from)].flag(owner, where, from).raised.store(value);
          CHECK(all[static_cast<std::size_t>(owner)].flag(owner, where, from).raised.load() ==
                value);
        }
      }
    }
    CHECK(offsets.size() == static_cast<std::size_t>(2 * world * world));
  }
}

TEST_CASE("a new board has no flag, no failure and no absent rank") {
  auto const all = boards(3);
  CHECK(all[1].flag(0, place::begin, 2).raised.load() == 0);
  CHECK(all[1].flag(0, place::begin, 2).released.load() == 0);
  CHECK_FALSE(all[1].any_failed());
  CHECK_FALSE(all[1].failure_of_another().has_value());
  CHECK(all[1].absent_other() == -1);
}

TEST_CASE("a failure reaches the others with its origin and reason, and the first one stays") {
  auto all = boards(3);
  all[2].fail(2, "boom");
  all[2].fail(2, "later");
  CHECK(all[0].any_failed());
  REQUIRE(all[0].failure_of_another().has_value());
  CHECK(all[0].failure_of_another()->origin == 2);
  CHECK(all[0].failure_of_another()->why == "boom");
  CHECK_FALSE(all[2].failure_of_another().has_value());

  // A rank that was told hands on whose failure it was.
  all[0].fail(2, "boom");
  CHECK(all[1].failure_of_another()->origin == 2);

  all[1].fail(1, std::string(5000, 'x'));
  CHECK(all[2].failure_of_another()->why.size() < 1000);  // rank 0's, which is whole
  CHECK(all[2].failure_of_another()->why == "boom");
}

TEST_CASE("release lets go all that waits for this rank's flags, and nobody else") {
  auto all = boards(3);
  all[1].release();
  for (int owner = 0; owner < 3; ++owner) {
    for (int from = 0; from < 3; ++from) {
      for (place const where : {place::begin, place::end}) {
        CHECK(all[0].flag(owner, where, from).released.load() == (owner == 1 ? 1U : 0U));
        CHECK(all[0].flag(owner, where, from).raised.load() == 0);
      }
    }
  }
}

TEST_CASE("a rank that leaves, or whose board is gone, is absent") {
  auto all = boards(3);
  all[2].leave();
  CHECK(all[0].has_left(2));
  CHECK_FALSE(all[0].has_ended(2));
  CHECK(all[0].absent_other() == 2);
  CHECK(all[2].absent_other() == -1);
  all.pop_back();
  CHECK(all[0].has_ended(2));

  auto more = boards(2);
  more[1].fail(1, "boom");
  more[1].leave();  // whoever has failed does not leave
  CHECK_FALSE(more[0].has_left(1));
}

TEST_CASE("a process that is killed is absent at once, also before anyone has waited for it") {
  std::string const name = peer_board::new_name();
  auto const mine = peer_board::make(name, 0, 2);
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  pid_t const child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    auto const theirs = peer_board::open(name, 1, 2);
    static_cast<void>(!::write(ready[1], "x", 1));
    for (;;) {
      ::pause();
    }
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  peer_board::remove(name);
  CHECK_FALSE(mine.has_ended(1));
  ::kill(child, SIGKILL);
  siginfo_t ended{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) == 0);
  CHECK(mine.has_ended(1));  // a zombie still
  CHECK(mine.absent_other() == 1);
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_CASE("a name is made once, is gone when taken away, and is unknown elsewhere") {
  std::string const name = peer_board::new_name();
  CHECK(name.size() < peer_board::name_bytes);
  CHECK(name != peer_board::new_name());
  CHECK_THROWS_AS(peer_board::open(name, 1, 2), zero::io_error);
  auto const first = peer_board::make(name, 0, 2);
  CHECK_THROWS_AS(peer_board::make(name, 0, 2), zero::io_error);
  peer_board::remove(name);
  CHECK_THROWS_AS(peer_board::open(name, 1, 2), zero::io_error);
}

TEST_CASE("a seat is taken once; worlds that do not fit are refused") {
  std::string const name = peer_board::new_name();
  auto const first = peer_board::make(name, 0, 2);
  CHECK_THROWS_AS(peer_board::open(name, 0, 2), zero::io_error);
  peer_board::remove(name);
  for (auto const& [rank, ranks] : {std::pair{0, 0}, {0, 65}, {-1, 2}, {2, 2}}) {
    CHECK_THROWS_AS(peer_board::make(peer_board::new_name(), rank, ranks), zero::logic_error);
  }
}
