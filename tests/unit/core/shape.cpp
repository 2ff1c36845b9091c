// SPDX-License-Identifier: Apache-2.0
#include <zero/core/shape.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <type_traits>

static_assert(std::is_trivially_copyable_v<zero::shape>);
static_assert(zero::shape{}.rank() == 0 && zero::shape{}.elements() == 1);
static_assert(zero::shape{2, 3, 4}.elements() == 24);
static_assert(zero::shape{2, 3, 4}[1] == 3);
static_assert(zero::shape{2, 3} == zero::shape{2, 3});
static_assert(zero::shape{2, 3} != zero::shape{3, 2});
static_assert(zero::shape{2} != zero::shape{2, 1});

TEST_CASE("a zero anywhere makes the shape empty, whatever the others are") {
  std::int64_t const large = std::numeric_limits<std::int64_t>::max();
  CHECK(zero::shape{0}.elements() == 0);
  CHECK(zero::shape{large, 0, large}.elements() == 0);
  CHECK(zero::shape{large, large, 0}.elements() == 0);
}

TEST_CASE("sizes beyond 32 bits are normal") {
  std::int64_t const large = std::int64_t{1} << 40;
  CHECK(zero::shape{large, 4}.elements() == std::int64_t{1} << 42);
  CHECK(zero::shape{std::numeric_limits<std::int64_t>::max()}.elements() ==
        std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("eight dimensions fit and nine do not") {
  CHECK(zero::shape{1, 2, 1, 2, 1, 2, 1, 2}.elements() == 16);
  CHECK_THROWS_AS((zero::shape{1, 1, 1, 1, 1, 1, 1, 1, 1}), zero::logic_error);
}

TEST_CASE("negative and overflowing extents are refused with a sentence") {
  CHECK_THROWS_WITH_AS((zero::shape{2, -1}),
                       "zero::shape: a negative extent; sizes are 0 or more.",
                       zero::logic_error);
  std::int64_t const large = std::int64_t{1} << 32;
  CHECK_THROWS_AS((zero::shape{large, large}), zero::logic_error);
}

TEST_CASE("only existing dimensions can be asked for") {
  zero::shape const s{5, 6};
  CHECK(s[0] == 5);
  CHECK(s[1] == 6);
  CHECK_THROWS_AS(static_cast<void>(s[2]), zero::logic_error);
  CHECK_THROWS_AS(static_cast<void>(s[-1]), zero::logic_error);
}
