// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/rendezvous_tcp.hpp>

#include "tests/support/ports.hpp"
#include "tests/support/rank_threads.hpp"
#include "tests/support/text.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <thread>

using namespace std::chrono_literals;
using zero::test::contains;
using zero::test::errors_of_ranks;
using zero::test::free_port;

namespace {

using identifier = std::array<std::byte, 128>;

identifier make_identifier(int seed) {
  identifier result;
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = static_cast<std::byte>(static_cast<std::size_t>(seed) * 31 + i * 7);
  }
  return result;
}

void meet(zero::rendezvous const& who, int port, std::span<std::byte> bytes) {
  zero::rendezvous_by_tcp(who, "127.0.0.1", port, bytes);
}

}  // namespace

TEST_CASE("every rank receives rank 0's bytes over TCP") {
  for (int const size : {1, 2, 3, 8}) {
    CAPTURE(size);
    int const port = free_port();
    auto const errors = errors_of_ranks(size, [&](int rank) {
      if (rank == size - 1) {
        std::this_thread::sleep_for(20ms);  // once rank 0 is early, once (size 1, 2) late
      }
      identifier bytes = rank == 0 ? make_identifier(size) : identifier{};
      meet({.rank = rank, .size = size, .token = "job", .limit = 20s}, port, bytes);
      zero::precondition(bytes == make_identifier(size), "wrong bytes");
    });
    for (auto const& error : errors) {
      CHECK(error == "");
    }
  }
}

TEST_CASE("rank 0 may come last, and a port may be used twice in a row") {
  int const port = free_port();
  for (int round = 0; round < 2; ++round) {
    auto const errors = errors_of_ranks(3, [&](int rank) {
      std::this_thread::sleep_for(rank == 0 ? 100ms : 0ms);
      identifier bytes = rank == 0 ? make_identifier(round) : identifier{};
      meet({.rank = rank, .size = 3, .limit = 20s}, port, bytes);
      zero::precondition(bytes == make_identifier(round), "wrong bytes");
    });
    for (auto const& error : errors) {
      CHECK(error == "");
    }
  }
}

TEST_CASE("ranks with different world sizes all fail with one sentence") {
  int const port = free_port();
  auto const errors = errors_of_ranks(2, [&](int rank) {
    identifier bytes{};
    meet({.rank = rank, .size = rank == 0 ? 2 : 4, .limit = 20s}, port, bytes);
  });
  for (auto const& error : errors) {
    CHECK(contains(error, "rank 1 was told a world size of 4, rank 0 one of 2"));
    CHECK(contains(error, "WORLD_SIZE"));
  }
}

TEST_CASE("the sentence of a disagreement reaches ranks that were already there") {
  int const port = free_port();
  auto const errors = errors_of_ranks(3, [&](int rank) {
    std::this_thread::sleep_for(rank == 2 ? 200ms : 0ms);
    identifier bytes{};
    meet({.rank = rank == 2 ? 1 : rank, .size = 3, .limit = 20s}, port, bytes);
  });
  for (auto const& error : errors) {
    CHECK(contains(error, "two processes say they are rank 1"));
  }
}

TEST_CASE("ranks that expect another number of bytes are told") {
  int const port = free_port();
  auto const errors = errors_of_ranks(2, [&](int rank) {
    identifier bytes{};
    meet({.rank = rank, .size = 2, .limit = 20s},
         port,
         std::span(bytes).first(rank == 0 ? 128u : 64u));
  });
  for (auto const& error : errors) {
    CHECK(contains(error, "rank 1 expects 64 bytes, rank 0 has 128"));
  }
}

TEST_CASE("a process with another token is turned away and does not disturb the job") {
  int const port = free_port();
  auto const errors = errors_of_ranks(3, [&](int rank) {
    std::this_thread::sleep_for(rank == 2 ? 300ms : 0ms);
    bool const stranger = rank == 1;
    identifier bytes = rank == 0 ? make_identifier(7) : identifier{};
    meet({.rank = rank == 0 ? 0 : 1, .size = 2, .token = stranger ? "b" : "a", .limit = 20s},
         port,
         bytes);
    zero::precondition(bytes == make_identifier(7), "wrong bytes");
  });
  CHECK(errors[0] == "");
  CHECK(contains(errors[1], "another token"));
  CHECK(errors[2] == "");
}

TEST_CASE("a missing rank is named after the time limit, to the others too") {
  int const port = free_port();
  auto const start = std::chrono::steady_clock::now();
  auto const errors = errors_of_ranks(2, [&](int rank) {
    identifier bytes{};
    meet({.rank = rank, .size = 4, .limit = rank == 0 ? 300ms : 20s}, port, bytes);
  });
  for (auto const& error : errors) {
    CHECK(contains(error, "ranks 2, 3 of 4 did not come"));
    CHECK(contains(error, "within 300 ms"));
  }
  CHECK(std::chrono::steady_clock::now() - start < 10s);
}

TEST_CASE("a rank without rank 0 gives up after the time limit") {
  identifier bytes{};
  try {
    meet({.rank = 1, .size = 2, .limit = 200ms}, free_port(), bytes);
    FAIL("no exception");
  } catch (zero::io_error const& error) {
    CHECK(contains(error.what(), "rank 1 got no answer from rank 0"));
    CHECK(contains(error.what(), "Connection refused"));
  }
}

TEST_CASE("a port in use is named") {
  zero::test::listening_port const taken;
  identifier bytes{};
  try {
    meet({.rank = 0, .size = 2, .limit = 1s}, taken.port(), bytes);
    FAIL("no exception");
  } catch (zero::io_error const& error) {
    CHECK(contains(error.what(), "in use by another program; set ZERO_PORT"));
  }
}

TEST_CASE("a foreign address is named") {
  identifier bytes{};
  try {
    // 192.0.2.0/24 is kept for documentation (RFC 5737): no machine has it.
    zero::rendezvous_by_tcp({.rank = 0, .size = 2, .limit = 1s}, "192.0.2.1", free_port(), bytes);
    FAIL("no exception");
  } catch (zero::io_error const& error) {
    CHECK(contains(error.what(), "not an address of this machine"));
  }
}

TEST_CASE("connections that say something else, or nothing, are dropped") {
  int const port = free_port();
  auto const errors = errors_of_ranks(4, [&](int rank) {
    if (rank < 2) {
      std::this_thread::sleep_for(rank == 1 ? 400ms : 0ms);
      identifier bytes = rank == 0 ? make_identifier(3) : identifier{};
      meet({.rank = rank, .size = 2, .limit = 20s}, port, bytes);
      zero::precondition(bytes == make_identifier(3), "wrong bytes");
      return;
    }
    std::this_thread::sleep_for(100ms);
    zero::detail::deadline const until(20s);
    auto const found = zero::detail::resolve("127.0.0.1", port, false);
    zero::detail::descriptor const socket(::socket(AF_INET, SOCK_STREAM, 0));
    zero::precondition(::connect(socket.get(), found->ai_addr, found->ai_addrlen) == 0, "connect");
    if (rank == 2) {
      std::string const text = "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n";
      static_cast<void>(zero::detail::send_all(socket, std::as_bytes(std::span(text)), until));
    }
    std::byte answer{};
    zero::precondition(zero::detail::receive_all(socket, {&answer, 1}, until) == ECONNRESET,
                       "answered");
  });
  for (auto const& error : errors) {
    CHECK(error == "");
  }
}

TEST_CASE("a program that answers something else on the port is recognised") {
  zero::test::listening_port const other;
  auto const errors = errors_of_ranks(2, [&](int rank) {
    if (rank == 1) {
      identifier bytes{};
      meet({.rank = 1, .size = 2, .limit = 20s}, other.port(), bytes);
    } else {
      zero::detail::descriptor const guest(::accept(other.socket().get(), nullptr, nullptr));
      std::string const text = "220 ready for something else entirely";
      static_cast<void>(zero::detail::send_all(
          guest, std::as_bytes(std::span(text)), zero::detail::deadline(5s)));
    }
  });
  CHECK(contains(errors[1], "another program answers"));
}

TEST_CASE("a rank that dies while it waits may come again") {
  int const port = free_port();
  auto const errors = errors_of_ranks(3, [&](int rank) {
    if (rank == 1) {  // connects as rank 1 and goes away
      std::this_thread::sleep_for(100ms);
      auto const found = zero::detail::resolve("127.0.0.1", port, false);
      zero::detail::descriptor const socket(::socket(AF_INET, SOCK_STREAM, 0));
      zero::precondition(::connect(socket.get(), found->ai_addr, found->ai_addrlen) == 0,
                         "connect");
      zero::detail::rendezvous_hello hello{
          .token = zero::detail::token_hash(""), .size = 3, .rank = 1, .payload_bytes = 128};
      static_cast<void>(zero::detail::send_all(
          socket, zero::detail::bytes_of(hello), zero::detail::deadline(5s)));
      std::this_thread::sleep_for(100ms);
    }
    identifier bytes = rank == 0 ? make_identifier(9) : identifier{};
    std::this_thread::sleep_for(rank == 2 ? 400ms : 0ms);
    meet({.rank = rank, .size = 3, .limit = 20s}, port, bytes);
    zero::precondition(bytes == make_identifier(9), "wrong bytes");
  });
  for (auto const& error : errors) {
    CHECK(error == "");
  }
}

TEST_CASE("a port that is none is refused") {
  identifier bytes{};
  CHECK_THROWS_AS(meet({.rank = 0, .size = 2}, 0, bytes), zero::logic_error);
  CHECK_THROWS_AS(meet({.rank = 0, .size = 2}, 65536, bytes), zero::logic_error);
}
