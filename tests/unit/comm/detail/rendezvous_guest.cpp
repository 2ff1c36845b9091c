// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/detail/rendezvous_guest.hpp>

#include "tests/support/ports.hpp"
#include "tests/support/rank_threads.hpp"
#include "tests/support/text.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <sys/socket.h>

using namespace std::chrono_literals;
using namespace zero::detail;
using zero::test::contains;

// How ranks meet is tested with rendezvous_tcp; here, what a rank makes of odd answers.

namespace {

/// What a guest of 4 bytes throws when rank 0 answers with `head` and `body` and closes.
std::string error_after(rendezvous_answer head, std::string const& body) {
  zero::test::listening_port const host;
  auto const errors = zero::test::errors_of_ranks(2, [&](int rank) {
    if (rank == 1) {
      std::array<std::byte, 4> bytes{};
      zero::rendezvous const who{.rank = 1, .size = 2, .limit = 300ms};
      rendezvous_guest(who, "127.0.0.1", host.port()).receive(bytes);
      zero::precondition(bytes[3] == std::byte{'d'}, "wrong bytes");
    } else {
      deadline const until(5s);
      descriptor const guest(::accept(host.socket().get(), nullptr, nullptr));
      rendezvous_hello hello;
      CHECK(receive_all(guest, bytes_of(hello), until) == 0);
      CHECK(hello.rank == 1);
      CHECK(hello.payload_bytes == 4);
      static_cast<void>(send_all(guest, bytes_of(head), until));
      static_cast<void>(send_all(guest, std::as_bytes(std::span<char const>(body)), until));
    }
  });
  return errors[1];
}

}  // namespace

TEST_CASE("a guest takes the payload") {
  CHECK(error_after({.status = rendezvous_answer::payload, .bytes = 4}, "abcd") == "");
}

TEST_CASE("a guest passes rank 0's refusal on") {
  auto const error = error_after({.status = rendezvous_answer::refusal, .bytes = 7}, "go away");
  CHECK(contains(error, "rank 0 tells rank 1: go away"));
}

TEST_CASE("a guest refuses a payload of another size") {
  auto const error = error_after({.status = rendezvous_answer::payload, .bytes = 3}, "abc");
  CHECK(contains(error, "rank 0 sent 3 bytes where 4 were expected"));
}

TEST_CASE("a guest tries again when an answer breaks off, until its limit") {
  auto const error = error_after({.status = rendezvous_answer::payload, .bytes = 4}, "ab");
  CHECK(contains(error, "within 300 ms"));
}

TEST_CASE("a guest does not believe another program's bytes") {
  auto const error = error_after({.magic = 1, .bytes = 4}, "abcd");
  CHECK(contains(error, "another program answers"));
}
