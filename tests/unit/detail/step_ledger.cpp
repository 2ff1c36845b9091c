// SPDX-License-Identifier: Apache-2.0
#include <zero/detail/step_ledger.hpp>

#include <doctest/doctest.h>

using zero::detail::step_ledger;

TEST_CASE("steps are numbered from 1, and each record goes where its number says") {
  step_ledger ledger;
  for (std::int64_t step = 1; step <= 3 * zero::result_ring; ++step) {
    CHECK(ledger.issue() == step);
    CHECK(ledger.slot() == step % zero::result_ring);
  }
}

TEST_CASE("a replayed step is counted, and its record goes where its graph says") {
  step_ledger ledger;
  ledger.issue();
  CHECK(ledger.issue_to(7) == 2);
  CHECK(ledger.slot() == 7);
  CHECK(ledger.issue() == 3);
  CHECK(ledger.slot() == 3);
}

TEST_CASE("a training that goes on counts on") {
  step_ledger ledger;
  ledger.restart(100);
  CHECK(ledger.issued() == 100);
  CHECK(ledger.seen() == 100);
  CHECK(ledger.issue() == 101);
  ledger.see(101);
  CHECK(ledger.seen() == 101);
}
