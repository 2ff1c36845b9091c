// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/detail/rendezvous_record.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

using namespace zero::detail;

static_assert(std::has_unique_object_representations_v<rendezvous_presence>);
static_assert(std::has_unique_object_representations_v<rendezvous_publication>);

namespace {

struct scratch {
  scratch() {
    std::string name = std::filesystem::temp_directory_path() / "zero-record-XXXXXX";
    zero::precondition(::mkdtemp(name.data()) != nullptr, "no temporary directory");
    path = name;
  }

  ~scratch() { std::filesystem::remove_all(path); }

  std::filesystem::path path;
};

}  // namespace

TEST_CASE("a record is read as it was written, and replaces the one before") {
  scratch const place;
  std::string const file = place.path / "r";
  for (int const value : {1, 2}) {
    std::vector<std::byte> const written(100, static_cast<std::byte>(value));
    write_record(file, written);
    bool const same = read_record(file, 100) == written;
    CHECK(same);
  }
  CHECK(std::distance(std::filesystem::directory_iterator(place.path), {}) == 1);
}

TEST_CASE("what is missing, too short or too long reads as nothing") {
  scratch const place;
  std::string const file = place.path / "r";
  CHECK(read_record(file, 100).empty());
  write_record(file, std::vector<std::byte>(100));
  CHECK(read_record(file, 99).empty());
  CHECK(read_record(file, 101).empty());
  CHECK(read_record(file, 100).size() == 100);
}

TEST_CASE("a record that cannot be written is an error with its path") {
  CHECK_THROWS_AS(write_record("/no/such/directory/r", {}), zero::io_error);
  scratch const place;
  CHECK_THROWS_AS(write_record(place.path, std::vector<std::byte>(1)), zero::io_error);
}

TEST_CASE("nonces differ") {
  CHECK(make_nonce() != make_nonce());
}
