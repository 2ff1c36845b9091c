// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/detail/deadline.hpp>

#include <doctest/doctest.h>

#include <chrono>

using namespace std::chrono_literals;
using zero::detail::deadline;

TEST_CASE("a deadline passes") {
  CHECK(deadline(0s).passed());
  CHECK(deadline(-1s).passed());
  CHECK_FALSE(deadline(1h).passed());
  deadline const soon(5ms);
  soon.sleep(1h);  // not past the end
  CHECK(soon.passed());
}

TEST_CASE("poll waits until the deadline, but looks around each second") {
  CHECK(deadline(1h).poll_milliseconds() == 1000);
  CHECK(deadline(0s).poll_milliseconds() == 0);
  int const left = deadline(500ms).poll_milliseconds();
  CHECK(left > 0);
  CHECK(left <= 500);
  CHECK(deadline(1us).poll_milliseconds() <= 1);
}

TEST_CASE("a deadline says how long it was") {
  CHECK(deadline(120s).text() == "120 s");
  CHECK(deadline(1500ms).text() == "1500 ms");
  CHECK(deadline(20ms).text() == "20 ms");
}
