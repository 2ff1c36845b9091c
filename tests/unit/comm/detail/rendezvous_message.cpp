// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/detail/rendezvous_message.hpp>

#include <doctest/doctest.h>

#include <type_traits>

using namespace zero::detail;

static_assert(std::is_trivially_copyable_v<rendezvous_hello>);
static_assert(std::is_trivially_copyable_v<rendezvous_answer>);
static_assert(std::has_unique_object_representations_v<rendezvous_hello>, "no stray bytes travel");
static_assert(std::has_unique_object_representations_v<rendezvous_answer>, "no stray bytes travel");

TEST_CASE("messages begin with the magic number, which is eight letters") {
  rendezvous_hello hello;
  rendezvous_answer answer;
  char const* const letters = "ERO_VDZ1";
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(bytes_of(hello)[i] == static_cast<std::byte>(letters[i]));
    CHECK(bytes_of(answer)[i] == static_cast<std::byte>(letters[i]));
  }
}
