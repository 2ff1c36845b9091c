// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/peer/concepts.hpp>

#include "tests/support/lone_transport.hpp"

#include <zero/device/host_stream.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <exception>

namespace {

using minimal = zero::test::logging_base<zero::host_stream>;

// Each with exactly one fault.
struct without_words : minimal {
  static constexpr int words = 0;
};

struct device_that_throws : minimal {
  [[nodiscard]] int device() const { return 0; }
};

struct fail_that_throws : minimal {
  void fail(std::exception_ptr const&) {}
};

struct close_that_throws : minimal {
  void close() {}
};

struct group_without_an_end_of_its_own : minimal {
  void end_group() {}
};

struct gather_of_one : minimal {
  [[nodiscard]] std::int32_t gather(std::int32_t mine, char const* /*what*/) { return mine; }
};

}  // namespace

static_assert(zero::peer_base<minimal>);
static_assert(!zero::peer_base<without_words>);
static_assert(!zero::peer_base<device_that_throws>);
static_assert(!zero::peer_base<fail_that_throws>);
static_assert(!zero::peer_base<close_that_throws>);
static_assert(!zero::peer_base<group_without_an_end_of_its_own>);
static_assert(!zero::peer_base<gather_of_one>);
static_assert(!zero::peer_base<zero::test::logging_transport<zero::host_stream>>);
