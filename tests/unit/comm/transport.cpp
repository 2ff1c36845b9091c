// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/transport.hpp>

#include "tests/support/lone_transport.hpp"

#include <zero/device/host_stream.hpp>

#include <doctest/doctest.h>

#include <string>

namespace {

using minimal = zero::test::logging_transport<zero::host_stream>;

// Each with exactly one fault.
struct without_a_name : minimal {
  static constexpr int name = 0;
};

struct finish_that_throws : minimal {
  void finish() {}
};

struct abort_that_throws : minimal {
  void abort(std::string const&) {}
};

struct in_group_that_counts : minimal {
  [[nodiscard]] int in_group() const noexcept { return 0; }
};

struct gather_that_returns : minimal {
  int all_gather(zero::host_stream, zero::collective_tag const&, void const*, void*, std::int64_t) {
    return 0;
  }
};

struct hidden_check : minimal {
 private:
  void check() {}
};

}  // namespace

static_assert(zero::transport<minimal>);
static_assert(!zero::transport<without_a_name>);
static_assert(!zero::transport<finish_that_throws>);
static_assert(!zero::transport<abort_that_throws>);
static_assert(!zero::transport<in_group_that_counts>);
static_assert(!zero::transport<gather_that_returns>);
static_assert(!zero::transport<hidden_check>);
static_assert(!zero::transport<int>);
static_assert(!zero::communicator<minimal>);  // it lacks what the shell adds
