// SPDX-License-Identifier: Apache-2.0
#include <zero/detail/plan_comparison.hpp>

#include "tests/support/rank_threads.hpp"
#include "tests/support/text.hpp"

#include <zero/core/shape.hpp>
#include <zero/parameter_view.hpp>
#include <zero/plan/digest.hpp>

#include <doctest/doctest.h>

#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using zero::test::contains;
using parameters = std::vector<zero::parameter_view>;

/// A table on which threads lay values down for each other.
class table {
 public:
  explicit table(std::size_t ranks)
      : places_(ranks),
        barrier_(static_cast<std::ptrdiff_t>(ranks)) {}

  [[nodiscard]] auto gather_of(std::size_t rank) {
    return [this, rank]<class T>(T const& mine) {
      static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 128);
      places_[rank].resize(sizeof mine);
      std::memcpy(places_[rank].data(), &mine, sizeof mine);
      barrier_.arrive_and_wait();
      std::vector<T> all(places_.size());
      for (std::size_t r = 0; r < all.size(); ++r) {
        std::memcpy(&all[r], places_[r].data(), sizeof(T));
      }
      barrier_.arrive_and_wait();
      return all;
    };
  }

 private:
  std::vector<std::vector<char>> places_;
  std::barrier<> barrier_;
};

[[nodiscard]] parameters named(std::size_t count) {
  parameters list;
  for (std::size_t i = 0; i < count; ++i) {
    zero::parameter_view view;
    view.name = "blocks." + std::to_string(i);
    view.shape = zero::shape{static_cast<std::int64_t>(i), 3};
    list.push_back(view);
  }
  return list;
}

/// What each rank threw when they compared these.
[[nodiscard]] std::vector<std::string> compare(std::vector<parameters> const& lists,
                                               std::vector<zero::plan_digest> digests = {}) {
  digests.resize(lists.size());
  table shared(lists.size());
  return zero::test::errors_of_ranks(static_cast<int>(lists.size()), [&](int rank) {
    auto const r = static_cast<std::size_t>(rank);
    zero::detail::compare_between_ranks(digests[r], lists[r], shared.gather_of(r));
  });
}

TEST_CASE("names and shapes in words") {
  zero::parameter_view view;
  view.name = "head";
  view.shape = zero::shape{};
  CHECK(zero::detail::name_and_shape(view) == "'head' []");
  view.shape = zero::shape{30, 10};
  CHECK(zero::detail::name_and_shape(view) == "'head' [30, 10]");
}

TEST_CASE("ranks that are alike agree") {
  for (std::size_t const ranks : {1, 2, 5}) {
    for (std::size_t const count : {0, 1, 7}) {
      for (auto const& error : compare(std::vector<parameters>(ranks, named(count)))) {
        CHECK(error == std::string());
      }
    }
  }
}

TEST_CASE("the first parameter that differs is named, wherever it stands, the same on every rank") {
  std::mt19937 random(95);
  for (std::size_t const count : {1, 2, 3, 8, 13}) {
    for (std::size_t first = 0; first < count; ++first) {
      std::size_t const ranks = 2 + random() % 3;
      std::size_t const other = 1 + random() % (ranks - 1);
      auto lists = std::vector<parameters>(ranks, named(count));
      for (std::size_t i = first; i < count; i += 2) {  // later ones may differ too
        lists[other][i].name = "layers." + std::to_string(i);
      }
      auto const errors = compare(lists);
      auto const& expected = lists[0][first];
      auto const& differing = lists[other][first];
      std::string wanted = "parameter " + std::to_string(first) + " is ";
      wanted += zero::detail::name_and_shape(expected) + " on rank 0 and ";
      wanted += zero::detail::name_and_shape(differing) + " on rank " + std::to_string(other);
      for (auto const& error : errors) {
        CAPTURE(error);
        CHECK(contains(error, wanted));
        CHECK(error == errors.front());
      }
    }
  }
}

TEST_CASE("names of any length arrive whole") {
  for (std::size_t const length : {0, 1, 50, 55, 56, 57, 64, 119, 120, 1000}) {
    auto lists = std::vector<parameters>(3, named(4));
    lists[2][3].name = std::string(length, 'x');
    auto const wanted = "and '" + std::string(length, 'x') + "' [3, 3] on rank 2;";
    for (auto const& error : compare(lists)) {
      CAPTURE(error);
      CHECK(contains(error, wanted));
    }
  }
}

TEST_CASE("an earlier part of the digest is told before the names, a later one after them") {
  auto lists = std::vector<parameters>(2, named(4));
  std::vector<zero::plan_digest> digests(2);
  digests[1].parts[zero::digest_part_of_step] = 1;
  for (auto const& error : compare(lists, digests)) {
    CHECK(contains(error, zero::digest_part_name(zero::digest_part_of_step)));
  }
  lists[1][2].shape = zero::shape{3, 2};
  for (auto const& error : compare(lists, digests)) {
    CHECK(contains(error, "parameter 2 is 'blocks.2' [2, 3] on rank 0"));
  }
  digests[1].parts[0] = 1;
  for (auto const& error : compare(lists, digests)) {
    CHECK(contains(error, std::string(zero::digest_part_name(0)) + " of rank 1 differ"));
  }
}

}  // namespace
