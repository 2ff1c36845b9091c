// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/rendezvous.hpp>

#include <doctest/doctest.h>

#include <chrono>

static_assert(zero::detail::token_hash("") == 0xcbf29ce484222325u);
static_assert(zero::detail::token_hash("a") == 0xaf63dc4c8601ec8cu);
static_assert(zero::detail::token_hash("job 1") != zero::detail::token_hash("job 2"));

TEST_CASE("a rendezvous needs ranks below the world size and some time") {
  using zero::detail::check_rendezvous;
  CHECK_NOTHROW(check_rendezvous({}));
  CHECK_NOTHROW(check_rendezvous({.rank = 2, .size = 3}));
  CHECK_THROWS_AS(check_rendezvous({.rank = 0, .size = 0}), zero::logic_error);
  CHECK_THROWS_AS(check_rendezvous({.rank = 3, .size = 3}), zero::logic_error);
  CHECK_THROWS_AS(check_rendezvous({.rank = -1, .size = 3}), zero::logic_error);
  CHECK_THROWS_AS(check_rendezvous({.limit = std::chrono::seconds(0)}), zero::logic_error);
}
