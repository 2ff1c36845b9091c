// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/rendezvous_file.hpp>

#include "tests/support/rank_threads.hpp"
#include "tests/support/text.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <unistd.h>

using namespace std::chrono_literals;
using zero::test::contains;
using zero::test::errors_of_ranks;

namespace {

using identifier = std::array<std::byte, 128>;

/// A directory that is gone afterwards.
struct scratch {
  scratch() {
    std::string name = std::filesystem::temp_directory_path() / "zero-rendezvous-XXXXXX";
    zero::precondition(::mkdtemp(name.data()) != nullptr, "no temporary directory");
    path = name;
  }

  ~scratch() { std::filesystem::remove_all(path); }

  [[nodiscard]] std::string file() const { return path / "id"; }

  [[nodiscard]] auto files() const {
    return std::distance(std::filesystem::directory_iterator(path), {});
  }

  std::filesystem::path path;
};

void run_job(std::string const& path, int size, std::string const& token, int seed) {
  auto const errors = errors_of_ranks(size, [&](int rank) {
    std::this_thread::sleep_for(rank == seed % size ? 60ms : 0ms);
    identifier bytes{};
    if (rank == 0) {
      bytes.fill(static_cast<std::byte>(seed));
    }
    zero::rendezvous_by_file(
        {.rank = rank, .size = size, .token = token, .limit = 20s}, path, bytes);
    for (std::byte const b : bytes) {
      zero::precondition(b == static_cast<std::byte>(seed), "wrong bytes");
    }
  });
  for (auto const& error : errors) {
    CHECK(error == "");
  }
}

}  // namespace

TEST_CASE("every rank receives rank 0's bytes through a file, which is gone afterwards") {
  scratch const place;
  for (int const size : {1, 2, 5}) {
    CAPTURE(size);
    run_job(place.file(), size, "job", size);
    CHECK(place.files() == 0);
  }
}

TEST_CASE("leftovers of a run that was killed are not believed") {
  scratch const place;
  // The worst leftovers: whole, well-formed files of this very job and path. Rank 2 is killed
  // first, then rank 0 finds the files of all ranks, writes its own, and is killed as well.
  identifier bytes{};
  bytes.fill(std::byte{0xEE});
  CHECK_THROWS_AS(zero::rendezvous_by_file(
                      {.rank = 2, .size = 3, .token = "job", .limit = 10ms}, place.file(), bytes),
                  zero::io_error);
  auto const stale = errors_of_ranks(2, [&](int rank) {
    identifier old{};
    old.fill(std::byte{0xEE});
    zero::rendezvous_by_file(
        {.rank = rank, .size = 3, .token = "job", .limit = 300ms}, place.file(), old);
  });
  CHECK(contains(stale[0], "within 300 ms: 2"));
  CHECK(stale[1] == "");
  CHECK(place.files() == 3);

  SUBCASE("the same world size") {
    run_job(place.file(), 3, "job", 4);
  }
  SUBCASE("a smaller one") {
    run_job(place.file(), 2, "job", 5);
  }
  SUBCASE("another token") {
    run_job(place.file(), 3, "next job", 6);
  }
}

TEST_CASE("garbage under the same names is not believed") {
  scratch const place;
  for (char const* suffix : {"", ".1", ".2"}) {
    std::ofstream(place.file() + suffix) << std::string(200, 'x');
  }
  run_job(place.file(), 3, "", 8);
  CHECK(place.files() == 0);
}

TEST_CASE("a missing rank is named, and what was found of it") {
  scratch const place;
  auto const errors = errors_of_ranks(2, [&](int rank) {
    identifier bytes{};
    zero::rendezvous_by_file(
        {.rank = rank, .size = rank == 0 ? 3 : 4, .limit = 400ms}, place.file(), bytes);
  });
  CHECK(contains(errors[0], "did not come"));
  CHECK(contains(errors[0], "within 400 ms: 1, 2"));
  CHECK(contains(errors[0], "the file of rank 1 speaks of a world size of 4"));
  CHECK(contains(errors[1], "rank 1 got no answer from rank 0"));
}

TEST_CASE("ranks of another job are told apart by the token") {
  scratch const place;
  auto const errors = errors_of_ranks(2, [&](int rank) {
    identifier bytes{};
    zero::rendezvous_by_file(
        {.rank = rank, .size = 2, .token = rank == 0 ? "a" : "b", .limit = 300ms},
        place.file(),
        bytes);
  });
  CHECK(contains(errors[0], "the file of rank 1 belongs to another job"));
  CHECK(contains(errors[1], "job token"));
}

TEST_CASE("a directory that cannot be written is named") {
  identifier bytes{};
  try {
    zero::rendezvous_by_file({.rank = 1, .size = 2, .limit = 1s}, "/no/such/directory/id", bytes);
    FAIL("no exception");
  } catch (zero::io_error const& error) {
    CHECK(contains(error.what(), "/no/such/directory/id.1"));
  }
}
