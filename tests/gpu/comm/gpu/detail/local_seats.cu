// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/gpu/detail/local_seats.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <vector>

TEST_CASE("devices are dealt out in turn, the current one where none is given") {
  CHECK(zero::detail::deal_devices(3, {}) == std::vector<int>{0, 0, 0});
  CHECK(zero::detail::deal_devices(2, {0}) == std::vector<int>{0, 0});
  int count = 0;
  zero::check_cuda(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  if (count > 1) {
    CHECK(zero::detail::deal_devices(3, {1, 0}) == std::vector<int>{1, 0, 1});
  }
}

TEST_CASE("a device that is not there is an error") {
  CHECK_THROWS_AS(static_cast<void>(zero::detail::deal_devices(2, {0, 4711})), zero::cuda_error);
}

TEST_CASE("each rank sits down once, and gets its events then") {
  zero::detail::local_seats seats(
      std::make_shared<zero::detail::local_meeting>(2, std::chrono::seconds(1)), {0, 0});
  CHECK(seats.size() == 2);
  CHECK(seats.ready(1).get() == nullptr);
  seats.take(1);
  CHECK(seats.ready(1).get() != nullptr);
  CHECK(seats.done(1, 0).get() != seats.done(1, 1).get());
  CHECK_THROWS_AS(seats.take(1), zero::logic_error);
}

TEST_CASE("the i-th duplicates of all ranks are one") {
  zero::detail::local_seats seats(
      std::make_shared<zero::detail::local_meeting>(2, std::chrono::seconds(1)), {0, 0});
  auto const first = seats.duplicate(0);
  auto const second = seats.duplicate(0);
  CHECK(first != second);
  CHECK(seats.duplicate(1) == first);
  CHECK(seats.duplicate(1) == second);
}
