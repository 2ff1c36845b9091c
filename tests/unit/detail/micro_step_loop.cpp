// SPDX-License-Identifier: Apache-2.0
#include <zero/detail/micro_step_loop.hpp>

#include "tests/support/text.hpp"

#include <zero/core/error.hpp>
#include <zero/detail/program_cursor.hpp>
#include <zero/model/program.hpp>
#include <zero/plan/plan.hpp>
#include <zero/plan/schedule.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace {

/// A core of one unit that only remembers.
class fake_core {
 public:
  fake_core() {
    plan_.program.forward = {{0, zero::phase::forward, true}, {0, zero::phase::forward, false}};
    tokens_ = plan_.program.forward;
  }

  void check() const {
    if (!failure.empty()) {
      throw zero::logic_error(failure);
    }
  }

  [[noreturn]] void fail_misuse(std::string const& what) {
    keep_text(what);
    throw zero::logic_error(what);
  }

  void abandon(std::string const& what) noexcept { keep_text(what); }

  void keep(std::exception_ptr const& error) noexcept { kept = error != nullptr; }

  [[nodiscard]] bool in_pass() const { return cursor_.active(); }

  void begin_pass(zero::pass_kind pass) {
    log += pass.train ? "[" : "(";
    log += pass.first ? "f" : "";
    log += pass.last ? "l" : "";
    cursor_.begin(tokens_);
  }

  void end_pass() {
    if (!cursor_.finished()) {
      fail_misuse("the pass ended, but " + cursor_.describe_next() + " was expected");
    }
    log += "]";
    cursor_.end();
  }

  void use() {
    cursor_.advance();
    cursor_.advance();
  }

  [[nodiscard]] zero::detail::program_cursor const& cursor() const { return cursor_; }

  [[nodiscard]] zero::execution_plan const& plan() const { return plan_; }

  std::string failure;
  std::string log;
  bool kept = false;

 private:
  void keep_text(std::string const& what) { failure = failure.empty() ? what : failure; }

  zero::execution_plan plan_;
  std::vector<zero::program_token> tokens_;
  zero::detail::program_cursor cursor_{{"head"}};
};

using loop = zero::detail::micro_step_loop<fake_core>;

constexpr zero::pass_kind first{.train = true, .first = true, .last = false, .fresh = false};
constexpr zero::pass_kind last{.train = true, .first = false, .last = true, .fresh = false};
constexpr zero::pass_kind only{.train = true, .first = true, .last = true, .fresh = false};
constexpr zero::pass_kind evaluation{.train = false, .first = false, .last = false, .fresh = false};

/// The text of what a call throws.
template <class Call>
std::string thrown(Call call) {
  try {
    call();
  } catch (zero::logic_error const& error) {
    return error.what();
  }
  return "";
}

using zero::test::contains;

/// Runs a turn that is a whole loop.
void run_only_turn(fake_core& core, loop& l) {
  l.announce(only);
  l.begin_pass();
  core.use();
  l.end_turn(1);
}

TEST_CASE("passes begin with the first lease and make micro-steps ready at the end of the loop") {
  fake_core core;
  loop l(core);
  CHECK(l.take() == 0);
  l.announce(first);
  CHECK(core.log.empty());  // nothing is begun
  l.begin_pass();
  l.begin_pass();
  core.use();
  l.end_turn(0);
  CHECK(l.take() == 0);
  l.announce(last);
  l.begin_pass();
  core.use();
  l.complete_pass();
  l.complete_pass();
  core.begin_pass(evaluation);  // after the last lease
  core.use();
  core.end_pass();
  l.end_turn(2);
  CHECK(core.log == "[f][l](]");
  CHECK(l.take() == 2);
  CHECK(l.take() == 0);
  CHECK(l.ended() == 2);
  l.restart(3);
  CHECK(l.ended() == 0);
  CHECK(l.take() == 3);
}

TEST_CASE("a turn without leases says what is missing") {
  fake_core core;
  loop l(core);
  l.announce(only);
  CHECK(contains(thrown([&] { l.end_turn(1); }), "open forward 'head' was expected"));
}

TEST_CASE("loops do not nest, nor follow one another without a step") {
  fake_core core;
  loop l(core);
  l.announce(first);
  CHECK(contains(thrown([&] { l.announce(first); }), "inside another one"));
  fake_core other;
  loop m(other);
  run_only_turn(other, m);
  CHECK(contains(thrown([&] { m.announce(only); }), "a second loop"));
}

TEST_CASE("a turn is announced once, the first one or not") {
  fake_core core;
  loop l(core);
  l.announce(first);
  l.begin_pass();
  core.use();
  l.complete_pass();  // its gradients are there: they must not be added again
  CHECK(contains(thrown([&] { l.announce(last); }), "inside another one"));
  fake_core other;
  loop m(other);
  run_only_turn(other, m);
  CHECK(contains(thrown([&] { m.announce(last); }), "a second loop"));
}

TEST_CASE("calls that have no place in the loop are refused there alone") {
  fake_core core;
  loop l(core);
  l.expect_none("step");
  l.announce(only);
  CHECK(contains(thrown([&] { l.expect_none("step"); }), "step was called inside the loop"));
  CHECK(contains(thrown([&] { l.expect_none("replay"); }), "step was called"));  // the first one
}

TEST_CASE("a loop that is left tells what is missing, and keeps it") {
  fake_core core;
  loop l(core);
  SUBCASE("before the first lease") {
    l.announce(first);
    l.leave(0, 2, false);
    CHECK(contains(core.failure, "left in micro-step 1 of 2, but open forward 'head' was"));
  }
  SUBCASE("in a pass") {
    l.announce(only);
    l.begin_pass();
    l.leave(0, 1, false);
    CHECK(contains(core.failure, "left in micro-step 1 of 1, but open forward 'head' was"));
  }
  SUBCASE("between turns") {
    l.announce(first);
    l.begin_pass();
    core.use();
    l.leave(0, 2, false);
    CHECK(contains(core.failure, "left in micro-step 1 of 2, but micro-step 2 was"));
  }
  SUBCASE("inside an evaluation pass") {
    l.announce(only);
    core.begin_pass(evaluation);
    core.use();
    l.leave(0, 1, false);
    CHECK(contains(core.failure, "left in micro-step 1 of 1, but open forward 'head' was"));
  }
  CHECK(core.kept);
  CHECK(thrown([&] { l.expect_none("step"); }) == core.failure);  // and not that a loop is open
  CHECK(thrown([&] { l.announce(only); }) == core.failure);
}

TEST_CASE("an exception that passes is told and not kept twice") {
  fake_core core;
  loop l(core);
  l.announce(first);
  l.leave(1, 2, true);
  CHECK(core.failure == "an exception passed through micro-step 2 of 2");
  CHECK_FALSE(core.kept);
}

TEST_CASE("the last turn is left where nothing is missing") {
  for (bool const completed : {false, true}) {
    fake_core core;
    loop l(core);
    l.announce(only);
    l.begin_pass();
    core.use();
    if (completed) {
      l.complete_pass();
    }
    l.leave(0, 1, false);
    CHECK(core.failure.empty());
    CHECK(core.log == "[fl]");
    CHECK(l.take() == 1);
    l.expect_none("step");
  }
}

}  // namespace
