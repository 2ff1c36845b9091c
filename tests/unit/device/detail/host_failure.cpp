// SPDX-License-Identifier: Apache-2.0
#include <zero/device/detail/host_failure.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <exception>
#include <stdexcept>
#include <thread>
#include <vector>

using zero::detail::host_failure;

TEST_CASE("the first failure stays and is thrown as it was") {
  struct own_error {
    int value;
  };

  host_failure failure;
  failure.check();
  CHECK_FALSE(failure.failed());
  CHECK(failure.keep(std::make_exception_ptr(own_error{4})));
  CHECK_FALSE(failure.keep(std::make_exception_ptr(own_error{5})));
  CHECK(failure.failed());
  try {
    failure.check();
    FAIL("check did not throw");
  } catch (own_error const& error) {
    CHECK(error.value == 4);
  }
}

TEST_CASE("the callback is told of one failure of many, by the thread that failed") {
  host_failure failure;
  std::atomic<int> told{0};
  std::atomic<int> first{0};
  std::thread::id teller;
  failure.set_callback([&](std::exception_ptr const&) {
    ++told;
    teller = std::this_thread::get_id();
  });
  std::vector<std::thread> threads;
  std::vector<std::thread::id> ids(8);
  std::atomic<std::size_t> winner{99};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    threads.emplace_back([&, i] {
      if (failure.keep(std::make_exception_ptr(std::runtime_error("one of many")))) {
        ++first;
        winner = i;
      }
    });
    ids[i] = threads.back().get_id();
  }
  for (auto& thread : threads) {
    thread.join();
  }
  CHECK(told == 1);
  CHECK(first == 1);
  CHECK(teller == ids.at(winner));
}

TEST_CASE("a callback that throws changes nothing") {
  host_failure failure;
  failure.set_callback([](std::exception_ptr const&) { throw 1; });
  CHECK(failure.keep(std::make_exception_ptr(std::runtime_error("kept"))));
  CHECK_THROWS_WITH(failure.check(), "kept");
}
