// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/stage_text.hpp>

#include <doctest/doctest.h>

TEST_CASE("the stages of a plan are named once each") {
  CHECK(zero::stage_text({.stage = 2}) == "stage 2");
  CHECK(zero::stage_text({.stage = 3, .unit_stages = {-1, 3, -1}}) == "stage 3");
  CHECK(zero::stage_text({.stage = 3, .unit_stages = {2, -1, 1, 2}}) ==
        "stage 3, some units in stage 1 and 2");
}
