// SPDX-License-Identifier: Apache-2.0
#include <zero/core/error.hpp>

#include "tests/support/text.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>

static_assert(std::is_base_of_v<std::logic_error, zero::logic_error>);
static_assert(std::is_base_of_v<std::runtime_error, zero::peer_error>);
static_assert(std::is_base_of_v<std::runtime_error, zero::cuda_error>);
static_assert(std::is_base_of_v<std::runtime_error, zero::nccl_error>);
static_assert(std::is_base_of_v<std::runtime_error, zero::io_error>);
static_assert(std::is_base_of_v<std::runtime_error, zero::numeric_error>);
static_assert(std::is_base_of_v<std::bad_alloc, zero::out_of_memory>);

// A thrown exception is copied where no other exception may arise.
static_assert(std::is_nothrow_copy_constructible_v<zero::logic_error>);
static_assert(std::is_nothrow_copy_constructible_v<zero::peer_error>);
static_assert(std::is_nothrow_copy_constructible_v<zero::cuda_error>);
static_assert(std::is_nothrow_copy_constructible_v<zero::out_of_memory>);

// Usable in constant expressions as long as the condition holds.
static_assert((zero::precondition(true, "fine"), true));

namespace {

using zero::test::contains;

void demands_a_positive_number(int n,
                               zero::source_location where = zero::source_location::current()) {
  zero::precondition(n > 0, "demands_a_positive_number: n must be positive.", where);
}

}  // namespace

TEST_CASE("a source location is that of the caller") {
  std::uint32_t const before = __LINE__;
  zero::source_location const here = zero::source_location::current();
  CHECK(here.line() == before + 1);
  CHECK(contains(here.file_name(), "error.cpp"));
  CHECK(std::string(here.function_name()) != "current");
  CHECK(zero::source_location().line() == 0);
}

TEST_CASE("a broken precondition throws the sentence and names the caller's line") {
  demands_a_positive_number(1);
  std::uint32_t line = 0;
  try {
    line = __LINE__ + 1;
    demands_a_positive_number(0);
    FAIL("nothing was thrown");
  } catch (zero::logic_error const& error) {
    CHECK(std::string(error.what()) == "demands_a_positive_number: n must be positive.");
    CHECK(error.where().line() == line);
    CHECK(contains(error.where().file_name(), "error.cpp"));
  }
}

TEST_CASE("precondition without a place blames its own caller") {
  std::uint32_t line = 0;
  try {
    line = __LINE__ + 1;
    zero::precondition(false, "no");
    FAIL("nothing was thrown");
  } catch (zero::logic_error const& error) {
    CHECK(error.where().line() == line);
  }
}

TEST_CASE("a peer's failure says rank, step, unit and operation") {
  zero::peer_error const error("rank 2 left", 2, 17, "blocks.3", "gather");
  CHECK(error.rank() == 2);
  CHECK(error.step() == 17);
  CHECK(std::string(error.unit()) == "blocks.3");
  CHECK(std::string(error.operation()) == "gather");
  for (char const* part : {"rank 2 left", "rank 2", "step 17", "'blocks.3'", "'gather'"}) {
    CHECK(contains(error.what(), part));
  }
}

TEST_CASE("a peer_error of an operation without a unit names none") {
  zero::peer_error const error("rank 2 left", 2, 17, "", "agree");
  CHECK(std::string(error.what()) == "zero: rank 2 left (rank 2, step 17, operation 'agree')");
  CHECK(std::string(error.unit()).empty());
}

TEST_CASE("an exception outlives the one it was copied from") {
  std::exception_ptr kept;
  try {
    throw zero::peer_error("rank 2 left", 2, 17, "blocks.3", "gather");
  } catch (zero::peer_error const& error) {
    kept = std::make_exception_ptr(error);
  }
  try {
    std::rethrow_exception(kept);
  } catch (zero::peer_error const& copy) {
    CHECK(contains(copy.what(), "rank 2 left"));
    CHECK(std::string(copy.unit()) == "blocks.3");
  }
}

TEST_CASE_TEMPLATE("a failed call says its name, its code, the reason and the place",
                   Error,
                   zero::cuda_error,
                   zero::nccl_error,
                   zero::io_error) {
  std::uint32_t const line = __LINE__ + 1;
  Error const error(7, "someCall", "too many resources");
  CHECK(error.code() == 7);
  CHECK(std::string(error.call()) == "someCall");
  CHECK(error.where().line() == line);
  for (char const* part : {"someCall", "7", "too many resources", "error.cpp"}) {
    CHECK(contains(error.what(), part));
  }
  CHECK(contains(error.what(), (":" + std::to_string(line) + ":").c_str()));
}

TEST_CASE("out of memory names the pool and the bytes, and is a bad_alloc") {
  try {
    throw zero::out_of_memory(std::int64_t{1} << 40, "slots", "the plan is 3 TiB");
  } catch (std::bad_alloc const& caught) {
    auto const& error = dynamic_cast<zero::out_of_memory const&>(caught);
    CHECK(error.bytes() == std::int64_t{1} << 40);
    CHECK(std::string(error.pool()) == "slots");
    CHECK(contains(caught.what(), "1099511627776 bytes for pool 'slots'"));
    CHECK(contains(caught.what(), "the plan is 3 TiB"));
  }
  CHECK(std::string(zero::out_of_memory(1, "x").what()) ==
        "zero: out of memory: 1 bytes for pool 'x'");
}

TEST_CASE("a numeric error carries its sentence") {
  CHECK(std::string(zero::numeric_error("at the floor").what()) == "at the floor");
}
