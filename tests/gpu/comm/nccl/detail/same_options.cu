// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/nccl/detail/same_options.hpp>

#include "tests/support/text.hpp"

#include <zero/core/error.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

/// What rank 0 is told when rank 1 has other options.
std::string refusal(zero::nccl_options const& mine, zero::nccl_options const& theirs) {
  auto const both = [&](auto const& first) {
    // The same question of the other rank shows what it brings.
    std::vector all{first, first};
    try {
      zero::detail::expect_same_options(theirs, [&](auto const& second) {
        all[1] = second;
        return std::vector{second};
      });
    } catch (zero::logic_error const&) {
      FAIL("a rank agrees with itself");
    }
    return all;
  };
  try {
    zero::detail::expect_same_options(mine, both);
  } catch (zero::logic_error const& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("options that make ranks call different things are refused by name, others are not") {
  using zero::nccl_registration;
  using zero::test::contains;
  CHECK(refusal({}, {}) == "");
  CHECK(refusal({.device = 0}, {.device = 1}) == "");
  CHECK(contains(refusal({}, {.registration = nccl_registration::peers}),
                 "nccl_options::registration differs between the ranks; give all the same"));
  CHECK(contains(refusal({}, {.peer_reading_bytes = 0}), "peer_reading_bytes differs"));
  CHECK(contains(refusal({.warm_up_bytes = 0}, {}), "warm_up_bytes differs"));
}
