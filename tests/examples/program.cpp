// SPDX-License-Identifier: Apache-2.0
// The example as its user meets it: what it prints, where, and with which status.
#include "tests/examples/program_run.hpp"
#include "tests/examples/scratch_folder.hpp"
#include "tests/examples/timeline_file.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace {

using nlohmann::json;

using train_gpt_test::outcome;
using train_gpt_test::run;
using train_gpt_test::write_text;

outcome train(scratch_folder const& folder, std::string const& options) {
  return run(
      folder,
      TRAIN_GPT,
      "--layers 2 --channels 16 --heads 2 --context 16 --batch 2 --ranks 3 --steps 4 " + options);
}

json report_of(scratch_folder const& folder) {
  return json::parse(folder.read("r.json"));
}

}  // namespace

TEST_CASE("a run shows its progress, a sample, its memory and its collectives, and reports them") {
  scratch_folder const folder;
  write_text(folder);
  outcome const run = train(folder, "--data text --report r.json");
  REQUIRE(run.errors == "");
  REQUIRE(run.status == 0);
  for (char const* shown : {"step     1/4",
                            "loss",
                            "validation",
                            "tokens/s",
                            "left",
                            "sample",
                            "optimizer",
                            "planned",
                            "allocated",
                            "all_gather",
                            "all_to_others"}) {
    CAPTURE(shown);
    CHECK(run.output.find(shown) != std::string::npos);
  }
  json const r = report_of(folder);
  CHECK(r.at("stage") == 2);
  CHECK(r.at("ranks") == 3);
  CHECK(run.output.find("Matrix products by " + r.at("matrix_products").get<std::string>() +
                        ", attention by " + r.at("attention").get<std::string>()) !=
        std::string::npos);
  CHECK(r.at("losses").size() == 4);
  CHECK(r.at("losses")[0].get<double>() > 5);
  CHECK(r.at("losses")[3].get<double>() < r.at("losses")[0].get<double>());
  CHECK(r.at("applied_steps") == 4);
  CHECK(r.at("skipped_steps") == 0);
  CHECK(r.at("validation_loss").is_number());
  CHECK(r.at("tokens_per_second").get<double>() > 0);
  CHECK(r.at("parameters_hash").get<std::string>().size() == 16);
  CHECK(r.at("replica_hash").get<std::string>().size() == 16);
  CHECK(r.at("formula_bytes").get<double>() > 0);
  auto const& allocations = r.at("allocations_per_step");
  CHECK((allocations.is_null() || allocations == 0.0));
  for (json const& pool : r.at("pools")) {
    CHECK(pool.at("planned_bytes") == pool.at("allocated_bytes"));
  }
}

TEST_CASE("the same line trains the same parameters, and quiet says nothing about it") {
  scratch_folder const folder;
  write_text(folder);
  outcome const first = train(folder, "--data text --quiet --report r.json");
  json const a = report_of(folder);
  outcome const second = train(folder, "--data text --quiet --report r.json");
  json const b = report_of(folder);
  CHECK(first.status == 0);
  CHECK(first.output + first.errors + second.output + second.errors == "");
  CHECK(a.at("parameters_hash") == b.at("parameters_hash"));
  CHECK(a.at("losses") == b.at("losses"));
  CHECK(train(folder, "--data text --quiet --seed 2 --report r.json").status == 0);
  CHECK(report_of(folder).at("parameters_hash") != a.at("parameters_hash"));
}

TEST_CASE("a comparison trains the same parameters in every stage and prints one table") {
  scratch_folder const folder;
  write_text(folder);
  outcome const run = train(folder, "--data text --quiet --compare --report r.json");
  REQUIRE(run.errors == "");
  REQUIRE(run.status == 0);
  CHECK(run.output.find("stage 3") != std::string::npos);
  json const r = report_of(folder);
  REQUIRE(r.size() == 4);
  std::int64_t const steps = 4;
  for (json const& stage : r) {
    CHECK(stage.at("parameters_hash") == r[0].at("parameters_hash"));
    CHECK(stage.at("losses") == r[0].at("losses"));
    CHECK(stage.at("collectives").at("all_to_others").at("count").get<std::int64_t>() % steps == 0);
  }
}

TEST_CASE("a timeline is a file that a viewer opens, with the rows of rank 0's queues") {
  scratch_folder const folder;
  write_text(folder);
  outcome const run = train(folder, "--data text --quiet --timeline t.json --stage 3");
  REQUIRE(run.errors == "");
  REQUIRE(run.status == 0);
  train_gpt_test::check_timeline_file(json::parse(folder.read("t.json")));
}

TEST_CASE("weights that were kept are where training goes on") {
  scratch_folder const folder;
  write_text(folder);
  outcome const kept = train(folder, "--data text --quiet --save-weights w --report r.json");
  REQUIRE(kept.status == 0);
  double const last = report_of(folder).at("validation_loss").get<double>();
  outcome const loaded =
      train(folder, "--data text --quiet --load-weights w --lr 0 --stage 3 --report r.json");
  REQUIRE(loaded.errors == "");
  REQUIRE(loaded.status == 0);
  CHECK(report_of(folder).at("validation_loss").get<double>() ==
        doctest::Approx(last).epsilon(1e-6));

  outcome const other = train(folder, "--data text --load-weights w --channels 32");
  CHECK(other.status == 2);
  CHECK(other.output == "");
  CHECK(other.errors.find("another shape") != std::string::npos);
}

TEST_CASE("bad input gives one sentence on standard error and status 2, nothing else") {
  scratch_folder const folder;
  folder.write("empty", "");
  for (char const* options : {"--frobnicate",
                              "--precision fp8",
                              "--steps abc",
                              "--lr nan",
                              "--clip -1",
                              "--data missing",
                              "--data empty",
                              "--channels 10 --heads 3",
                              "--load-weights missing",
                              "--save-weights missing/w",
                              "--timeline missing/t",
                              "--compare --timeline t"}) {
    CAPTURE(options);
    for (char const* program : {TRAIN_GPT, TRAIN_GPT_OPTIONS}) {
      outcome const refused = run(folder, program, options);
      CHECK(refused.status == 2);
      CHECK(refused.output == "");
      CHECK(refused.errors.starts_with("train_gpt: "));
      CHECK(refused.errors.find('\n') == refused.errors.size() - 1);
    }
  }
}

TEST_CASE("an engine that was not built is refused, and the small program names it") {
  scratch_folder const folder;
  std::string const options = "--precision fp16 --optimizer lion --reduction native --stage 1";
  outcome const refused = run(folder, TRAIN_GPT, options);
  CHECK(refused.status == 2);
  CHECK(refused.errors.find("stage1_fp16_fp32_native_lion") != std::string::npos);
  outcome const named = run(folder, TRAIN_GPT_OPTIONS, "--variants " + options);
  CHECK(named.status == 0);
  CHECK(named.output == "stage1_fp16_fp32_native_lion\n");
  CHECK(run(folder, TRAIN_GPT_OPTIONS, "--variants --compare").output ==
        "stage0_bf16_fp32_ordered_adamw\nstage1_bf16_fp32_ordered_adamw\n"
        "stage2_bf16_fp32_ordered_adamw\nstage3_bf16_fp32_ordered_adamw\n");
}

TEST_CASE("help is printed by both programs") {
  scratch_folder const folder;
  for (char const* program : {TRAIN_GPT, TRAIN_GPT_OPTIONS}) {
    outcome const help = run(folder, program, "--help");
    CHECK(help.status == 0);
    CHECK(help.output.find("--micro-steps") != std::string::npos);
    CHECK(help.errors == "");
  }
}
