// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/detail/local_run.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using zero::detail::first_error;
using zero::detail::run_ranks;
using zero::detail::what_of;

namespace {

zero::peer_error consequence(std::string const& reason) {
  return {reason, 0, 0, "", ""};
}

template <class Error>
void keep(first_error& errors, Error const& error) {
  try {
    throw error;
  } catch (...) {
    errors.keep_current();
  }
}

}  // namespace

TEST_CASE("any exception has a text") {
  CHECK(what_of(std::make_exception_ptr(std::runtime_error("this"))) == "this");
  CHECK(what_of(std::make_exception_ptr(7)) == "an exception that is no std::exception");
}

TEST_CASE("the first original error is kept, and a consequence only for want of one") {
  first_error errors;
  errors.rethrow();  // nothing yet
  keep(errors, consequence("a"));
  CHECK_THROWS_AS(errors.rethrow(), zero::peer_error);
  keep(errors, std::runtime_error("b"));
  CHECK_THROWS_WITH(errors.rethrow(), "b");
  keep(errors, std::runtime_error("c"));
  keep(errors, consequence("d"));
  CHECK_THROWS_WITH(errors.rethrow(), "b");
}

TEST_CASE("each rank runs once, on a thread of its own") {
  std::vector<std::atomic<int>> runs(5);
  run_ranks(
      5,
      [&](int rank) { ++runs[static_cast<std::size_t>(rank)]; },
      [](int, std::string const&) { FAIL("nothing was thrown"); });
  for (auto const& count : runs) {
    CHECK(count == 1);
  }
}

TEST_CASE("whoever throws is reported with his text, and all are waited for") {
  std::mutex mutex;
  std::vector<std::pair<int, std::string>> reports;
  std::atomic<int> ended{0};
  CHECK_THROWS_WITH(run_ranks(
                        3,
                        [&](int rank) {
                          ++ended;
                          if (rank == 1) {
                            throw std::runtime_error("rank one");
                          }
                        },
                        [&](int rank, std::string why) {
                          std::lock_guard const lock(mutex);
                          reports.emplace_back(rank, std::move(why));
                        }),
                    "rank one");
  CHECK(ended == 3);
  CHECK(reports == std::vector<std::pair<int, std::string>>{{1, "rank one"}});
}
