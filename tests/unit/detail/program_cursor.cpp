// SPDX-License-Identifier: Apache-2.0
#include <zero/detail/program_cursor.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

using zero::phase;
using zero::program_token;
using zero::detail::program_cursor;

std::vector<program_token> const pass{
    {0, phase::forward, true},
    {1, phase::forward, true},
    {1, phase::forward, false},
    {0, phase::backward, false},
};

TEST_CASE("a cursor is outside of any pass until one begins, and after it ends") {
  program_cursor cursor({"embed", "blocks.0"});
  CHECK_FALSE(cursor.active());
  cursor.begin(pass);
  CHECK(cursor.active());
  cursor.end();
  CHECK_FALSE(cursor.active());
}

TEST_CASE("a cursor expects the tokens of its pass, one after the other, and then nothing") {
  program_cursor cursor({"embed", "blocks.0"});
  cursor.begin(pass);
  for (std::size_t i = 0; i < pass.size(); ++i) {
    CHECK(cursor.position() == static_cast<std::int32_t>(i));
    CHECK_FALSE(cursor.finished());
    CHECK(cursor.next_phase() == pass[i].ph);
    for (auto const& token : pass) {
      bool const same =
          token.unit == pass[i].unit && token.ph == pass[i].ph && token.open == pass[i].open;
      CHECK(cursor.awaits(token) == same);
    }
    cursor.advance();
  }
  CHECK(cursor.finished());
  for (auto const& token : pass) {
    CHECK_FALSE(cursor.awaits(token));
  }
}

TEST_CASE("each difference from what is expected is seen: unit, phase, open or close") {
  program_cursor cursor({"embed", "blocks.0"});
  cursor.begin(pass);
  CHECK(cursor.awaits({0, phase::forward, true}));
  CHECK_FALSE(cursor.awaits({1, phase::forward, true}));
  CHECK_FALSE(cursor.awaits({0, phase::backward, true}));
  CHECK_FALSE(cursor.awaits({0, phase::forward, false}));
  CHECK(cursor.next_phase() == phase::forward);
}

TEST_CASE("a second pass begins at its beginning") {
  program_cursor cursor({"embed", "blocks.0"});
  cursor.begin(pass);
  cursor.advance();
  cursor.end();
  cursor.begin(pass);
  CHECK(cursor.position() == 0);
}

TEST_CASE("tokens are said in the names of their units") {
  program_cursor cursor({"embed", "blocks.0"});
  cursor.begin(pass);
  CHECK(cursor.describe_next() == "open forward 'embed'");
  CHECK(cursor.describe({1, phase::backward, false}) == "close backward 'blocks.0'");
  for (std::size_t i = 0; i < pass.size(); ++i) {
    cursor.advance();
  }
  CHECK(cursor.describe_next() == "the end of the pass");
}

TEST_CASE("no unit has no name") {
  program_cursor const cursor({"embed"});
  CHECK(std::string(cursor.unit_name(-1)).empty());
  CHECK(std::string(cursor.unit_name(0)) == "embed");
}

TEST_CASE("a pass without tokens is finished when it begins") {
  std::vector<program_token> const none;
  program_cursor cursor({});
  cursor.begin(none);
  CHECK(cursor.finished());
  CHECK(cursor.describe_next() == "the end of the pass");
}

}  // namespace
