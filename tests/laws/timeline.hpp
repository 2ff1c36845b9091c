// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/queue.hpp>
#include <zero/trace/timeline.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace zero::laws {

/// How many stretches bear a name.
[[nodiscard]] inline std::int64_t count_of(std::vector<timeline_entry> const& entries,
                                           std::string const& name) {
  return std::count_if(
      entries.begin(), entries.end(), [&](auto const& entry) { return entry.name == name; });
}

/// What holds of every timeline of an engine with several ranks that trained: each queue has a row;
/// on a row, stretches begin in the order in which they were issued and lie inside or beside each
/// other; an operation of communication is on the row of communication.
inline void check_timeline(std::vector<timeline_entry> const& entries) {
  constexpr double slack_us = 0.5;  // of a GPU's time stamps
  for (auto const row : {queue::compute, queue::comm, queue::reduce}) {
    CAPTURE(static_cast<int>(row));
    std::vector<double> open;  // ends of the stretches around the one at hand
    double latest = -slack_us;
    std::int64_t count = 0;
    for (auto const& entry : entries) {
      if (entry.row != row) {
        continue;
      }
      CAPTURE(entry.name);
      CAPTURE(entry.unit);
      ++count;
      CHECK(entry.begin_us >= latest - slack_us);
      CHECK(entry.end_us >= entry.begin_us);
      latest = entry.begin_us;
      while (!open.empty() && open.back() <= entry.begin_us + slack_us) {
        open.pop_back();
      }
      CHECK((open.empty() || entry.end_us <= open.back() + slack_us));
      open.push_back(entry.end_us);
      bool communicates = false;
      for (char const* name : {"gather", "exchange", "agree", "publish", "gather_sums"}) {
        communicates = communicates || entry.name == name;
      }
      CHECK((row == queue::comm) == communicates);
    }
    CHECK(count > 0);
  }
}

}  // namespace zero::laws
