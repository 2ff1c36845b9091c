// SPDX-License-Identifier: Apache-2.0
// The example's report: JSON of one run or of a comparison, and the check of a comparison.
#include "examples/train_gpt/compare.hpp"
#include "examples/train_gpt/report.hpp"
#include "tests/examples/scratch_folder.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using nlohmann::json;
using train_gpt::run_report;

run_report example_run() {
  run_report run;
  run.chosen.stage = 3;
  run.chosen.steps = 2;
  run.parameters = 1'000'000'007;
  run.applied_steps = 1;
  run.skipped_steps = 1;
  run.losses = {5.5, std::numeric_limits<double>::quiet_NaN()};
  run.validation_losses = {4.5};
  run.training_seconds = 3;
  run.tokens_per_second = 100.5;
  run.parameters_hash = 0x0123456789abcdefU;
  run.replica_hash = 0x00000000000000ffU;
  run.pools = {{"optimizer", "host", 12, 12}};
  run.formula_bytes = 11;
  run.collectives = {{"all_gather", 7, 70}, {"broadcast", 0, 0}};
  run.allocations_per_step = 0.0;
  return run;
}

/// Stages 0 to 3 that ended with these hashes.
std::vector<run_report> comparison(std::vector<std::uint64_t> const& hashes,
                                   std::int64_t micro_steps,
                                   std::string const& reduction) {
  std::vector<run_report> runs;
  for (int stage = 0; stage < 4; ++stage) {
    run_report& run = runs.emplace_back();
    run.chosen.stage = stage;
    run.chosen.micro_steps = micro_steps;
    run.chosen.reduction = reduction;
    run.parameters_hash = hashes[static_cast<std::size_t>(stage)];
  }
  return runs;
}

}  // namespace

TEST_CASE("numbers are numbers, choices are words, and a missing figure is null") {
  scratch_folder const folder;
  train_gpt::write_json({example_run()}, false, folder.path("r.json"));
  json const r = json::parse(folder.read("r.json"));
  CHECK(r.at("stage") == 3);
  CHECK(r.at("ranks") == 4);
  CHECK(r.at("precision") == "bf16");
  CHECK(r.at("offload") == "none");
  CHECK(r.at("device") == "host");
  CHECK(r.at("communicator") == "local");
  CHECK(r.at("parameters") == 1'000'000'007);
  CHECK(r.at("applied_steps") == 1);
  CHECK(r.at("skipped_steps") == 1);
  CHECK(r.at("losses").size() == 2);
  CHECK(r.at("losses")[0] == 5.5);
  CHECK(r.at("losses")[1].is_null());
  CHECK(r.at("validation_loss") == 4.5);
  CHECK(r.at("tokens_per_second") == 100.5);
  CHECK(r.at("parameters_hash") == "0123456789abcdef");
  CHECK(r.at("replica_hash") == "00000000000000ff");
  CHECK(r.at("pools")[0] == json{{"name", "optimizer"},
                                 {"tier", "host"},
                                 {"planned_bytes", 12},
                                 {"allocated_bytes", 12}});
  CHECK(r.at("formula_bytes") == 11);
  CHECK(r.at("collectives").at("all_gather") == json{{"count", 7}, {"bytes", 70}});
  CHECK(r.at("collectives").at("broadcast") == json{{"count", 0}, {"bytes", 0}});
  CHECK(r.at("allocations_per_step") == 0);

  run_report run = example_run();
  run.allocations_per_step.reset();
  run.validation_losses.clear();
  train_gpt::write_json({run}, false, folder.path("r.json"));
  json const without = json::parse(folder.read("r.json"));
  CHECK(without.at("allocations_per_step").is_null());
  CHECK(without.at("validation_loss").is_null());
}

TEST_CASE("a comparison is a list") {
  scratch_folder const folder;
  train_gpt::write_json({example_run(), example_run()}, true, folder.path("r.json"));
  json const r = json::parse(folder.read("r.json"));
  CHECK(r.is_array());
  CHECK(r.size() == 2);
  CHECK(r[1].at("stage") == 3);
}

TEST_CASE("a report that cannot be written says so") {
  scratch_folder const folder;
  CHECK_THROWS_AS(train_gpt::write_json({example_run()}, false, folder.path("no/r.json")),
                  std::runtime_error);
}

TEST_CASE("long numbers are grouped by threes") {
  CHECK(train_gpt::grouped(0) == "0");
  CHECK(train_gpt::grouped(999) == "999");
  CHECK(train_gpt::grouped(1000) == "1 000");
  CHECK(train_gpt::grouped(1234567) == "1 234 567");
  CHECK(train_gpt::grouped(-123) == "-123");
  CHECK(train_gpt::grouped(-1234) == "-1 234");
}

TEST_CASE("a comparison fails where the stages' promise is broken, and only there") {
  using train_gpt::check_equal;
  CHECK_NOTHROW(check_equal(comparison({7, 7, 7, 7}, 1, "ordered")));
  CHECK_THROWS_AS(check_equal(comparison({8, 7, 7, 7}, 1, "ordered")), std::runtime_error);
  CHECK_THROWS_AS(check_equal(comparison({7, 7, 7, 8}, 1, "ordered")), std::runtime_error);
  CHECK_THROWS_AS(check_equal(comparison({7, 7, 8, 8}, 1, "ordered")), std::runtime_error);
  CHECK_NOTHROW(check_equal(comparison({7, 7, 8, 8}, 2, "ordered")));
  CHECK_THROWS_AS(check_equal(comparison({7, 8, 8, 8}, 2, "ordered")), std::runtime_error);
  CHECK_NOTHROW(check_equal(comparison({5, 6, 7, 8}, 1, "native")));
}
