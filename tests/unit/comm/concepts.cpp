// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/concepts.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <type_traits>

namespace {

struct stream {};

/// The least a communicator can be.
struct minimal {
  using stream_type = stream;

  [[nodiscard]] int rank() const noexcept { return 0; }

  [[nodiscard]] int size() const noexcept { return 1; }

  void all_gather(stream, zero::collective_tag const&, void const*, void*, std::int64_t) {}

  void all_to_others(
      stream, zero::collective_tag const&, void const*, std::int64_t, void*, std::int64_t) {}

  void reduce_scatter(
      stream, zero::collective_tag const&, void*, std::int64_t, zero::dtype, double) {}

  void all_reduce(stream, zero::collective_tag const&, void*, std::int64_t, zero::dtype) {}

  void broadcast(stream, zero::collective_tag const&, void*, std::int64_t, int) {}

  void begin_group() {}

  void end_group() {}

  void abort(std::string const&) noexcept {}

  void leave() noexcept {}

  void check() const {}

  [[nodiscard]] zero::traffic counters() const { return {}; }
};

// Each with exactly one fault.
struct no_stream : minimal {
  using stream_type = void*;
};

struct throwing_abort : minimal {
  void abort(std::string const&) {}
};

struct throwing_leave : minimal {
  void leave() {}
};

struct size_that_throws : minimal {
  [[nodiscard]] int size() const { return 1; }
};

struct counters_of_another_type : minimal {
  [[nodiscard]] int counters() const { return 0; }
};

struct gather_that_returns : minimal {
  int all_gather(stream, zero::collective_tag const&, void const*, void*, std::int64_t) {
    return 0;
  }
};

struct hidden_check : minimal {
 private:
  void check() const {}
};

}  // namespace

static_assert(zero::communicator<minimal>);
static_assert(!zero::communicator<no_stream>);
static_assert(!zero::communicator<throwing_abort>);
static_assert(!zero::communicator<throwing_leave>);
static_assert(!zero::communicator<size_that_throws>);
static_assert(!zero::communicator<counters_of_another_type>);
static_assert(!zero::communicator<gather_that_returns>);
static_assert(!zero::communicator<hidden_check>);
static_assert(!zero::communicator<int>);
static_assert(std::is_trivially_copyable_v<zero::collective_tag>);

TEST_CASE("a tag matches another by its numbers and not by its names") {
  zero::collective_tag const tag{.sequence = 1,
                                 .step = 2,
                                 .unit = 3,
                                 .operation = 4,
                                 .pass = 5,
                                 .operation_name = "gather",
                                 .unit_name = "blocks.0"};
  zero::collective_tag other = tag;
  other.operation_name = nullptr;
  other.unit_name = "blocks.1";
  CHECK(tag.matches(other));
  SUBCASE("sequence") {
    other.sequence = 9;
  }
  SUBCASE("step") {
    other.step = 9;
  }
  SUBCASE("unit") {
    other.unit = 9;
  }
  SUBCASE("operation") {
    other.operation = 9;
  }
  SUBCASE("pass") {
    other.pass = 9;
  }
  CHECK_FALSE(tag.matches(other));
}
