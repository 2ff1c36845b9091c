// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/detail/local_text.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <type_traits>

using namespace std::chrono_literals;
using zero::collective;
using zero::detail::local_call;
using zero::detail::local_place;

static_assert(std::is_trivially_copyable_v<local_call>);
static_assert(std::is_trivially_copyable_v<local_place>);

namespace {

local_place place(char const* operation, char const* unit, std::int64_t step = 4) {
  local_place result;
  result.assign({.step = step, .operation_name = operation, .unit_name = unit},
                collective::all_gather);
  return result;
}

}  // namespace

TEST_CASE("a place is called by its operation and its unit, as far as they are known") {
  CHECK(label(place("gather", "blocks.3")) == "gather 'blocks.3'");
  CHECK(label(place("agree", nullptr)) == "agree");
  CHECK(label(place("agree", "")) == "agree");
  CHECK(label(place(nullptr, "embed")) == "all_gather 'embed'");
  CHECK(at(place("gather", "embed", 12)) == "gather 'embed' of step 12");
}

TEST_CASE("a place owns its names and cuts those that are too long") {
  std::string operation(100, 'o');
  std::string unit(300, 'u');
  local_place const p = place(operation.c_str(), unit.c_str());
  operation.assign(100, 'x');
  unit.assign(300, 'x');
  CHECK(p.operation.data() == std::string(31, 'o'));
  CHECK(p.unit.data() == std::string(95, 'u'));
  CHECK(p.tag.operation_name == nullptr);
  CHECK(p.tag.unit_name == nullptr);
}

TEST_CASE("calls match when they move the same bytes the same way") {
  local_call const call{.kind = collective::reduce_scatter,
                        .bytes = 8,
                        .type = zero::dtype::bf16,
                        .prescale = 0.5,
                        .root = 0};
  int buffer = 0;
  local_call other = call;
  other.send = &buffer;  // each rank's own business
  other.send_stride = 99;
  CHECK(call.matches(other));
  SUBCASE("kind") {
    other.kind = collective::all_reduce;
  }
  SUBCASE("bytes") {
    other.bytes = 9;
  }
  SUBCASE("type") {
    other.type = zero::dtype::fp16;
  }
  SUBCASE("prescale") {
    other.prescale = 0.25;
  }
  SUBCASE("root") {
    other.root = 1;
  }
  CHECK_FALSE(call.matches(other));
}

TEST_CASE("a disagreement goes into particulars only where the labels are the same") {
  local_call const call{.bytes = 8};
  CHECK(disagreement(place("gather", "blocks.3"), call, 2, place("exchange", "embed"), call) ==
        "rank 0 is at gather 'blocks.3', rank 2 at exchange 'embed'; all ranks must make the same "
        "calls in the same order");
  CHECK(disagreement(place("gather", "a", 1), call, 1, place("gather", "a", 2), call) ==
        "rank 0 is at gather 'a' (all_gather, step 1, pass 0, sequence 0, 8 bytes), rank 1 at "
        "gather 'a' (all_gather, step 2, pass 0, sequence 0, 8 bytes); all ranks must make the "
        "same calls in the same order");
  auto named = [](char const* pass) {
    local_place p = place("gather", "a", 1);
    std::string(pass).copy(p.pass.data(), p.pass.size() - 1);
    return p;
  };
  CHECK(disagreement(named("the only micro-step"), call, 1, named("an evaluation pass"), call) ==
        "rank 0 is at gather 'a' in the only micro-step, rank 1 at gather 'a' in an evaluation "
        "pass; all ranks must make the same calls in the same order");
}

TEST_CASE("who is missing is said in one sentence") {
  local_place const here = place("gather", "blocks.3", 5);
  CHECK(departure(1, place("agree", "", 4), 0, here) ==
        "rank 1 left after step 4, but rank 0 is at gather 'blocks.3' of step 5");
  CHECK(zero::detail::departure(1, {}, 0, here) ==
        "rank 1 left before its first collective, but rank 0 is at gather 'blocks.3' of step 5");
  CHECK(absence({2}, place("agree", "", 4), here, 120s) ==
        "rank 2 did not come to gather 'blocks.3' of step 5 within 120000 ms; rank 2 was last at "
        "agree of step 4");
  CHECK(absence({1, 3}, {}, here, 5ms) ==
        "ranks 1, 3 did not come to gather 'blocks.3' of step 5 within 5 ms; rank 1 was last seen "
        "before its first collective");
  CHECK(death(1, here, "no space") == "rank 1 failed after gather 'blocks.3' of step 5: no space");
  CHECK(zero::detail::death(1, {}, "no space") ==
        "rank 1 failed before its first collective: no space");
}
