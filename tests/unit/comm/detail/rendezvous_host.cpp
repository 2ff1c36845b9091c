// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/detail/rendezvous_host.hpp>

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

using namespace std::chrono_literals;
using namespace zero::detail;
using zero::test::contains;

// How ranks meet is tested with rendezvous_tcp; here, what one can say to rank 0 by hand.

namespace {

struct said {
  rendezvous_answer head{.status = 0};
  std::string body;
};

/// Connects and says hello in pieces of a few bytes. @return the answer
said say(int port, rendezvous_hello hello) {
  deadline const until(20s);
  auto const found = resolve("127.0.0.1", port, false);
  descriptor const socket(::socket(AF_INET, SOCK_STREAM, 0));
  while (::connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0 && !until.passed()) {
    until.sleep(5ms);
  }
  for (auto rest = bytes_of(hello); !rest.empty(); rest = rest.subspan(8)) {
    static_cast<void>(send_all(socket, rest.first(8), until));
    until.sleep(2ms);
  }
  said result;
  if (receive_all(socket, bytes_of(result.head), until) == 0) {
    result.body.resize(result.head.bytes);
    static_cast<void>(
        receive_all(socket, std::as_writable_bytes(std::span<char>(result.body)), until));
  }
  return result;
}

}  // namespace

TEST_CASE("rank 0 answers a hello that comes in pieces") {
  int const port = zero::test::free_port();
  auto const errors = zero::test::errors_of_ranks(2, [&](int rank) {
    if (rank == 0) {
      std::array<std::byte, 3> const bytes{std::byte{'a'}, std::byte{'b'}, std::byte{'c'}};
      zero::rendezvous const who{.rank = 0, .size = 2, .limit = 20s};
      rendezvous_host(who, "127.0.0.1", port).serve(bytes);
    } else {
      said const answer = say(
          port, {.token = zero::detail::token_hash(""), .size = 2, .rank = 1, .payload_bytes = 3});
      CHECK(answer.head.magic == rendezvous_magic);
      CHECK(answer.head.status == rendezvous_answer::payload);
      CHECK(answer.body == "abc");
    }
  });
  CHECK(errors[0] == "");
  CHECK(errors[1] == "");
}

TEST_CASE("rank 0 refuses ranks that cannot be") {
  for (int const wrong : {0, 2, -5}) {
    CAPTURE(wrong);
    int const port = zero::test::free_port();
    auto const errors = zero::test::errors_of_ranks(2, [&](int rank) {
      if (rank == 0) {
        zero::rendezvous const who{.rank = 0, .size = 2, .limit = 20s};
        rendezvous_host(who, "127.0.0.1", port).serve({});
      } else {
        said const answer = say(
            port,
            {.token = zero::detail::token_hash(""), .size = 2, .rank = wrong, .payload_bytes = 0});
        CHECK(answer.head.status == rendezvous_answer::refusal);
        CHECK(contains(answer.body, "rank " + std::to_string(wrong)));
      }
    });
    CHECK(contains(errors[0], "rank " + std::to_string(wrong)));
    CHECK(errors[1] == "");
  }
}
