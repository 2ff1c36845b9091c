// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/peer/detail/board.hpp>

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
using zero::detail::peer_flag;
using flag = zero::detail::peer_board::flag;

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

TEST_CASE("every pair of ranks has flags of its own for each purpose, on all boards the same") {
  for (int const world : {1, 2, 5, 64}) {
    CAPTURE(world);
    auto const all = boards(world);
    std::set<std::int64_t> offsets;
    for (int owner = 0; owner < world; ++owner) {
      for (int from = 0; from < world; ++from) {
        for (flag const which : {flag::moves, flag::reads}) {
          auto const offset = all[0].offset_of(which, owner, from);
          bool const fits = offset % 64 == 0 && offset + 64 <= all[0].bytes();
          CHECK(fits);
          offsets.insert(offset);
          auto const value = static_cast<std::uint32_t>(offset);
          all[static_cast<std::size_t>(from)].state(which, owner, from).store(value);
          CHECK(all[static_cast<std::size_t>(owner)].state(which, owner, from).load() == value);
        }
      }
    }
    CHECK(offsets.size() == static_cast<std::size_t>(peer_board::flags * world * world));
  }
}

TEST_CASE("a new board has no open question, no failure and no absent rank") {
  auto const all = boards(3);
  CHECK(all[1].state(flag::moves, 0, 2).load() == peer_flag::answered);
  CHECK(all[1].state(flag::reads, 2, 0).load() == peer_flag::answered);
  CHECK(all[1].released(flag::moves, 0, 2).load() == 0);
  CHECK_FALSE(all[1].any_failed());
  CHECK_FALSE(all[1].failure_of_another().has_value());
  CHECK(all[1].left_other() == -1);
  CHECK(all[1].dead_other() == -1);
}

TEST_CASE("a failure reaches the others with its origin and reason, and the first one stays") {
  auto all = boards(3);
  auto const heard = [&](std::size_t by) {
    return all[by].failure_of_another().value_or(peer_board::failure{-1, "nothing"});
  };
  all[2].fail(2, "boom");
  all[2].fail(2, "later");
  CHECK(all[0].any_failed());
  CHECK(heard(0).origin == 2);
  CHECK(heard(0).why == "boom");
  CHECK(heard(2).why == "nothing");

  // A rank that was told hands on whose failure it was.
  all[0].fail(2, "boom");
  CHECK(heard(1).origin == 2);
  CHECK(heard(2).why == "boom");

  auto more = boards(2);
  more[1].fail(1, std::string(5000, 'x'));
  auto const cut = more[0].failure_of_another().value_or(peer_board::failure{-1, ""}).why;
  CHECK(cut.size() > 500);
  CHECK(cut.size() < 1000);
}

TEST_CASE("release lets go all that waits, on every rank, and asks or answers nothing") {
  auto all = boards(3);
  all[1].release();
  for (int owner = 0; owner < 3; ++owner) {
    for (int from = 0; from < 3; ++from) {
      for (flag const which : {flag::moves, flag::reads}) {
        CHECK(all[0].released(which, owner, from).load() == 1);
        CHECK(all[0].state(which, owner, from).load() == peer_flag::answered);
      }
    }
  }
}

TEST_CASE("a rank that leaves has left; one whose board is gone without a word is dead") {
  auto all = boards(4);
  all[3].leave();
  CHECK(all[0].left_other() == 3);
  CHECK(all[3].left_other() == -1);
  CHECK_FALSE(all[0].has_ended(3));
  all.pop_back();
  CHECK(all[0].has_ended(3));
  CHECK(all[0].dead_other() == -1);  // it had left
  all.pop_back();
  CHECK(all[0].dead_other() == 2);
  CHECK(all[0].left_other() == 3);

  auto more = boards(2);
  more[1].fail(1, "boom");
  more[1].leave();  // whoever has failed does not leave
  CHECK(more[0].left_other() == -1);
  more.pop_back();
  CHECK(more[0].dead_other() == -1);  // it had spoken
}

TEST_CASE("a process that is killed is dead at once, also before anyone has waited for it") {
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
  CHECK(mine.dead_other() == 1);
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_CASE("a name is made once, is gone when taken away, and is unknown elsewhere") {
  std::string const name = peer_board::new_name();
  CHECK(name.size() < peer_board::name_bytes);
  CHECK(name != peer_board::new_name());
  CHECK_THROWS_AS(static_cast<void>(peer_board::open(name, 1, 2)), zero::io_error);
  auto const first = peer_board::make(name, 0, 2);
  CHECK_THROWS_AS(static_cast<void>(peer_board::make(name, 0, 2)), zero::io_error);
  peer_board::remove(name);
  CHECK_THROWS_AS(static_cast<void>(peer_board::open(name, 1, 2)), zero::io_error);
}

TEST_CASE("a seat is taken once; worlds that do not fit are refused") {
  std::string const name = peer_board::new_name();
  auto const first = peer_board::make(name, 0, 2);
  CHECK_THROWS_AS(static_cast<void>(peer_board::open(name, 0, 2)), zero::io_error);
  peer_board::remove(name);
  for (auto const& [rank, ranks] : {std::pair{0, 0}, {0, 65}, {-1, 2}, {2, 2}}) {
    CHECK_THROWS_AS(static_cast<void>(peer_board::make(peer_board::new_name(), rank, ranks)),
                    zero::logic_error);
  }
}
