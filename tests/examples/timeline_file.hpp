// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace train_gpt_test {

/// What a viewer of traces needs: named rows for the three queues, each with stretches that lie
/// inside or beside each other, in steps that are not before the last three.
inline void check_timeline_file(nlohmann::json const& file) {
  constexpr double slack_us = 0.5;
  std::map<int, std::string> rows;
  std::map<int, std::vector<double>> ends;
  std::map<std::string, int> names;
  std::map<std::string, int> steps;
  for (nlohmann::json const& event : file.at("traceEvents")) {
    CHECK(event.at("pid") == 0);
    if (event.at("ph") == "M") {
      if (event.at("name") == "thread_name") {
        rows[event.at("tid")] = event.at("args").at("name");
      }
      continue;
    }
    CHECK(event.at("ph") == "X");
    double const begin = event.at("ts");
    double const duration = event.at("dur");
    CHECK(duration >= 0);
    std::vector<double>& open = ends[event.at("tid")];
    while (!open.empty() && open.back() <= begin + slack_us) {
      open.pop_back();
    }
    CHECK((open.empty() || begin + duration <= open.back() + slack_us));
    open.push_back(begin + duration);
    ++names[event.at("cat")];
    ++steps[event.at("args").at("step").dump()];
  }
  CHECK(rows == std::map<int, std::string>{{0, "compute"}, {1, "communication"}, {2, "reduction"}});
  CHECK(ends.size() == 3);
  for (char const* name : {"forward", "backward", "exchange", "sum", "agree", "update"}) {
    CAPTURE(name);
    CHECK(names[name] > 0);
  }
  CHECK(names["gather"] + names["publish"] > 0);  // where parameters are sharded, and where not
  CHECK(names["agree"] == 3);                     // once a step
}

}  // namespace train_gpt_test
