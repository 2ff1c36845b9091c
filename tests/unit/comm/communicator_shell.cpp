// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/communicator_shell.hpp>

#include "tests/support/lone_transport.hpp"

#include <zero/core/error.hpp>
#include <zero/device/host_stream.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

using zero::collective;
using zero::dtype;
using zero::test::transport_log;

namespace {

using transport = zero::test::logging_transport<zero::host_stream>;

struct shell : zero::communicator_shell<transport> {
  explicit shell(transport_log& log, int rank = 0, int ranks = 1)
      : communicator_shell(std::in_place, log, rank, ranks) {}

  using communicator_shell::transport;
};

template <class F>
std::string refusal(F&& f) {
  try {
    f();
  } catch (zero::logic_error const& error) {
    return error.what();
  }
  return "";
}

}  // namespace

static_assert(zero::communicator<zero::communicator_shell<transport>>);
static_assert(zero::communicator<shell>);
static_assert(std::is_nothrow_move_constructible_v<shell>);
static_assert(std::is_nothrow_move_assignable_v<shell>);
static_assert(!std::is_copy_constructible_v<shell>);

TEST_CASE("arguments that make no sense are refused in the transport's name, and go no further") {
  transport_log log;
  {
    shell comm(log, 1, 3);
    std::int64_t const n = -1;
    CHECK(refusal([&] { comm.all_gather({}, {}, nullptr, nullptr, n); }) ==
          "zero::test: all_gather needs a byte count that is not negative");
    CHECK(refusal([&] { comm.all_to_others({}, {}, nullptr, 0, nullptr, n); }) ==
          "zero::test: all_to_others needs a byte count that is not negative");
    CHECK(refusal([&] { comm.reduce_scatter({}, {}, nullptr, n, dtype::fp32, 1); }) ==
          "zero::test: reduce_scatter needs a count that is not negative");
    for (double const scale :
         {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
      CHECK(refusal([&] { comm.reduce_scatter({}, {}, nullptr, 0, dtype::fp32, scale); }) ==
            "zero::test: the prescale of a reduce_scatter must be finite");
    }
    CHECK(refusal([&] { comm.all_reduce({}, {}, nullptr, n, dtype::fp32); }) ==
          "zero::test: all_reduce needs a count that is not negative");
    CHECK(refusal([&] { comm.broadcast({}, {}, nullptr, n, 0); }) ==
          "zero::test: broadcast needs a byte count that is not negative");
    for (int const root : {-1, 3}) {
      CHECK(refusal([&] { comm.broadcast({}, {}, nullptr, 0, root); }) ==
            "zero::test: the root of a broadcast must be a rank");
    }
    CHECK(refusal([&] { comm.end_group(); }) == "zero::test: end_group without begin_group");
    CHECK(log.empty());
    CHECK(comm.counters() == zero::traffic{});
  }
  CHECK(log == transport_log{"finish"});
}

TEST_CASE("calls that return are counted, those that throw are not") {
  transport_log log;
  shell comm(log, 1, 3);
  comm.all_gather({}, {}, nullptr, nullptr, 10);
  comm.all_to_others({}, {}, nullptr, 0, nullptr, 10);
  comm.reduce_scatter({}, {}, nullptr, 10, dtype::bf16, 0.5);
  comm.all_reduce({}, {}, nullptr, 9, dtype::fp32);
  comm.broadcast({}, {}, nullptr, 10, 0);
  comm.broadcast({}, {}, nullptr, 10, 1);
  zero::traffic const sent = comm.counters();
  CHECK(sent[collective::all_gather] == zero::traffic::entry{1, 20});
  CHECK(sent[collective::all_to_others] == zero::traffic::entry{1, 20});
  CHECK(sent[collective::reduce_scatter] == zero::traffic::entry{1, 40});
  CHECK(sent[collective::all_reduce] == zero::traffic::entry{1, 48});
  CHECK(sent[collective::broadcast] == zero::traffic::entry{2, 20});
  CHECK(
      log ==
      transport_log{
          "all_gather", "all_to_others", "reduce_scatter", "all_reduce", "broadcast", "broadcast"});
  comm.transport().break_down();
  CHECK_THROWS_AS(comm.all_gather({}, {}, nullptr, nullptr, 10), std::runtime_error);
  CHECK_THROWS_AS(comm.check(), std::runtime_error);
  CHECK(comm.counters() == sent);
}

TEST_CASE("groups nest") {
  transport_log log;
  shell comm(log);
  comm.begin_group();
  comm.begin_group();
  comm.end_group();
  CHECK(comm.transport().in_group());
  comm.end_group();
  CHECK_FALSE(comm.transport().in_group());
  CHECK_THROWS_AS(comm.end_group(), zero::logic_error);
}

TEST_CASE("a communicator finishes once, wherever it was moved") {
  transport_log first;
  transport_log second;
  {
    shell one(first);
    shell moved(std::move(one));
    shell two(second);
    moved = std::move(two);
    moved.check();
    CHECK(first.empty());
    CHECK(second == transport_log{"check"});
  }
  CHECK(first == transport_log{"finish"});
  CHECK(second == transport_log{"check", "finish"});
}

TEST_CASE("an exception that ends a communicator is told first") {
  transport_log log;
  try {
    shell const comm(log);
    throw std::runtime_error("elsewhere");
  } catch (std::runtime_error const&) {
  }
  CHECK(log == transport_log{"abort: an exception ended it", "finish"});
  log.clear();

  struct at_the_end {  // made and ended while an exception is under way: nothing of its own
    transport_log* log;

    ~at_the_end() { shell const comm(*log); }
  };

  try {
    at_the_end const end{&log};
    throw std::runtime_error("elsewhere");
  } catch (std::runtime_error const&) {
  }
  CHECK(log == transport_log{"finish"});
}

TEST_CASE("abort, leave and check reach the transport") {
  transport_log log;
  shell comm(log);
  comm.abort("the user's reason");
  comm.leave();
  comm.check();
  CHECK(log == transport_log{"abort: the user's reason", "leave", "check"});
}
