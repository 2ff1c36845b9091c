// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/detail/socket.hpp>

#include "tests/support/text.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using zero::detail::deadline;
using zero::detail::descriptor;

static_assert(!std::is_copy_constructible_v<descriptor>);
static_assert(std::is_nothrow_move_constructible_v<descriptor>);

namespace {

std::pair<descriptor, descriptor> connected() {
  std::array<int, 2> ends{};
  zero::precondition(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0,
                     "socketpair");
  return {descriptor(ends[0]), descriptor(ends[1])};
}

}  // namespace

TEST_CASE("a descriptor is closed once, by its last owner") {
  auto [a, b] = connected();
  int const number = a.get();
  descriptor moved(std::move(a));
  CHECK(moved.get() == number);
  moved.reset();
  CHECK_FALSE(moved);
  std::byte byte{};
  CHECK(zero::detail::receive_all(b, {&byte, 1}, deadline(1s)) == ECONNRESET);
}

TEST_CASE("all bytes arrive, also those that do not fit at once") {
  auto [a, b] = connected();
  std::vector<std::byte> sent(4 << 20);
  for (std::size_t i = 0; i < sent.size(); ++i) {
    sent[i] = static_cast<std::byte>(i * 7);
  }
  int code = -1;
  std::thread sender([&] { code = zero::detail::send_all(a, sent, deadline(20s)); });
  std::vector<std::byte> received(sent.size());
  CHECK(zero::detail::receive_all(b, received, deadline(20s)) == 0);
  sender.join();
  CHECK(code == 0);
  bool const same = sent == received;
  CHECK(same);
}

TEST_CASE("nobody waits past the deadline, on either side") {
  auto [a, b] = connected();
  std::byte byte{};
  CHECK(zero::detail::receive_all(b, {&byte, 1}, deadline(20ms)) == ETIMEDOUT);
  std::vector<std::byte> const much(64 << 20);
  CHECK(zero::detail::send_all(a, much, deadline(20ms)) == ETIMEDOUT);
}

TEST_CASE("sending to an end that is closed is an error code, not a signal") {
  auto [a, b] = connected();
  b.reset();
  std::byte const byte{};
  CHECK(zero::detail::send_all(a, {&byte, 1}, deadline(1s)) == EPIPE);
}

TEST_CASE("no socket is an error code") {
  descriptor const none;
  std::byte byte{};
  CHECK(zero::detail::send_all(none, {&byte, 1}, deadline(1s)) == EBADF);
  CHECK(zero::detail::receive_all(none, {&byte, 1}, deadline(1s)) == EBADF);
}

TEST_CASE("names are resolved, and an unknown one is named") {
  CHECK(zero::detail::resolve("127.0.0.1", 80, false) != nullptr);
  try {
    static_cast<void>(zero::detail::resolve("[::1", 80, false));
    FAIL("no exception");
  } catch (zero::io_error const& error) {
    CHECK(zero::test::contains(error.what(), "'[::1'"));
    CHECK(zero::test::contains(error.what(), "MASTER_ADDR"));
  }
}
