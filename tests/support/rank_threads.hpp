// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <thread>
#include <vector>

namespace zero::test {

/// Runs `body(rank)` on one thread a rank and returns what each threw, "" where it threw nothing.
template <class Body>
[[nodiscard]] std::vector<std::string> errors_of_ranks(int ranks, Body body) {
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(rank);
      } catch (std::exception const& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return errors;
}

}  // namespace zero::test
