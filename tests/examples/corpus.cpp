// SPDX-License-Identifier: Apache-2.0
// The example's text: how it is read, parted and cut into windows.
#include "examples/train_gpt/corpus.hpp"
#include "examples/train_gpt/options.hpp"
#include "tests/examples/scratch_folder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace {

using train_gpt::bad_input;
using train_gpt::corpus;

std::vector<std::uint8_t> counting(std::size_t count) {
  std::vector<std::uint8_t> text(count);
  for (std::size_t i = 0; i < count; ++i) {
    text[i] = static_cast<std::uint8_t>(i % 251);
  }
  return text;
}

std::string text_of(std::span<std::uint8_t const> bytes) {
  return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("both parts together are the text, and a tenth is held out") {
  for (std::size_t const size : {90U, 91U, 1000U, 12'345U, 1'000'000U}) {
    CAPTURE(size);
    corpus const text(counting(size), 8);
    CHECK(text.training().size() + text.validation().size() == size);
    CHECK(text.validation().size() >= size / 11);
    CHECK(text.validation().size() <= size / 9);
  }
}

TEST_CASE("the shortest text that can be parted is, and a shorter one is refused") {
  corpus const text(counting(90), 8);
  CHECK(text.validation().size() == 9);
  CHECK(text.validation_window(0, 4).size() == 9);
  CHECK(text.validation_window(3, 4).size() == 9);
  CHECK_THROWS_AS(corpus(counting(89), 8), bad_input);
  CHECK_THROWS_AS(corpus(counting(0), 8), bad_input);
}

TEST_CASE("training windows lie in the training part and depend on seed and number alone") {
  corpus const text(counting(5000), 16);
  corpus const again(counting(5000), 16);
  std::set<std::ptrdiff_t> places;
  for (std::uint64_t number = 0; number < 200; ++number) {
    auto const window = text.training_window(3, number);
    REQUIRE(window.size() == 17);
    REQUIRE(window.data() >= text.training().data());
    REQUIRE(window.data() + 17 <= text.training().data() + text.training().size());
    places.insert(window.data() - text.training().data());
    auto const same = again.training_window(3, number);
    REQUIRE(std::ranges::equal(window, same));
  }
  CHECK(places.size() > 150);
  CHECK(text.training_window(3, 0).data() != text.training_window(4, 0).data());
}

TEST_CASE("validation windows cover the part held out from its first to its last byte") {
  corpus const text(counting(5000), 16);
  auto const held_out = text.validation();
  CHECK(text.validation_window(0, 7).data() == held_out.data());
  auto const last = text.validation_window(6, 7);
  CHECK(last.data() + last.size() == held_out.data() + held_out.size());
  CHECK(text.validation_window(0, 1).data() == held_out.data());
}

TEST_CASE("files are read in the order given, folders in the order of their paths") {
  scratch_folder const folder;
  folder.write("b.txt", "bbbbbbbbbb");
  folder.write("a/z.txt", "zzzzzzzzzz");
  folder.write("a/c/d.txt", "dddddddddd");
  folder.write("a/binary", std::string("\0\1\2", 3));
  corpus const text = corpus::read({folder.path("b.txt"), folder.path("a")}, 1);
  // Blocks of three bytes, the tenth of which is held out.
  CHECK(text_of(text.training()) == "bbbbbbbbbbddddddddddzzzzzzz");
  CHECK(text_of(text.validation()) == "zzz");
}

TEST_CASE("without a path, the text is the standard library's headers") {
  corpus const text = corpus::read({}, 128);
  CHECK(text.training().size() > 1'000'000);
  std::string const training = text_of(text.training());
  CHECK(training.find("template") != std::string::npos);
}

TEST_CASE("text that is missing, empty or too short is refused") {
  scratch_folder const folder;
  folder.write("empty", "");
  folder.write("short", "abc");
  CHECK_THROWS_AS((void)corpus::read({folder.path("nothing")}, 8), bad_input);
  CHECK_THROWS_AS((void)corpus::read({folder.path("empty")}, 8), bad_input);
  CHECK_THROWS_AS((void)corpus::read({folder.path("short")}, 8), bad_input);
  std::filesystem::create_directory(folder.path("hollow"));
  CHECK_THROWS_AS((void)corpus::read({folder.path("hollow")}, 8), bad_input);
}
