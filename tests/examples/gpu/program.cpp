// SPDX-License-Identifier: Apache-2.0
// The example on a GPU as its user meets it: the same numbers from every stage in each precision,
// from micro-steps, processes and files of weights; and what it says of itself.
#include "tests/examples/program_run.hpp"
#include "tests/examples/scratch_folder.hpp"
#include "tests/examples/timeline_file.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace {

using nlohmann::json;
using train_gpt_test::outcome;
using train_gpt_test::run;

std::string const sizes =
    " --device gpu --deterministic --quiet --data text --layers 2 --channels 64 --heads 2"
    " --context 64 --report r.json ";

/// A run that must end well. Its report.
json train(scratch_folder const& folder,
           std::string const& options,
           std::string const& launcher = "") {
  CAPTURE(options);
  outcome const done = run(folder, launcher.empty() ? TRAIN_GPT : launcher, sizes + options);
  REQUIRE(done.errors == "");
  REQUIRE(done.status == 0);
  return json::parse(folder.read("r.json"));
}

double loss(json const& report, std::size_t step) {
  return report.at("losses").at(step).get<double>();
}

void check_same(json const& a, json const& b) {
  CHECK(a.at("parameters_hash") == b.at("parameters_hash"));
  CHECK(a.at("replica_hash") == b.at("replica_hash"));
  CHECK(a.at("losses") == b.at("losses"));
  CHECK(a.at("validation_losses") == b.at("validation_losses"));
  CHECK(a.at("applied_steps") == b.at("applied_steps"));
}

}  // namespace

TEST_CASE("stages end with the same bits in FP16 and in FP32, and the loss falls") {
  scratch_folder const folder;
  train_gpt_test::write_text(folder);
  for (char const* ranks : {"--ranks 1 ", "--ranks 2 "}) {
    for (auto const& [precision, stages] :
         {std::pair{"fp16", std::array{"0", "3"}}, std::pair{"fp32", std::array{"1", "3"}}}) {
      CAPTURE(precision);
      std::string const options =
          std::string(ranks) + "--steps 24 --batch 4 --precision " + precision + " --stage ";
      json const a = train(folder, options + stages[0]);
      json const b = train(folder, options + stages[1]);
      check_same(a, b);
      CHECK(loss(a, 23) < 0.8 * loss(a, 0));
      CHECK(a.at("applied_steps").get<std::int64_t>() + a.at("skipped_steps").get<std::int64_t>() ==
            24);
      CHECK(a.at("applied_steps").get<std::int64_t>() > 16);
    }
  }
}

TEST_CASE("two micro-steps of two windows train as one of four") {
  scratch_folder const folder;
  train_gpt_test::write_text(folder);
  std::string const options = "--ranks 1 --steps 8 --precision fp32 --stage 3 ";
  json const whole = train(folder, options + "--batch 4");
  json const parts = train(folder, options + "--batch 2 --micro-steps 2");
  for (std::size_t step = 0; step < 8; ++step) {
    CHECK(loss(parts, step) == doctest::Approx(loss(whole, step)).epsilon(1e-3));
  }
  CHECK(loss(parts, 0) == doctest::Approx(loss(whole, 0)).epsilon(1e-6));
}

TEST_CASE("weights that were kept are where training on a GPU goes on") {
  scratch_folder const folder;
  train_gpt_test::write_text(folder);
  std::string const options = "--precision fp32 --steps 8 --batch 4 ";
  json const kept = train(folder, options + "--ranks 2 --stage 3 --save-weights w");
  json const loaded =
      train(folder, options + "--ranks 2 --stage 1 --lr 0 --load-weights w --save-weights v");
  double const last = kept.at("validation_loss").get<double>();
  CHECK(loaded.at("validation_loss").get<double>() == doctest::Approx(last).epsilon(1e-6));
  CHECK(folder.read("w").size() > 100'000);
  CHECK(folder.read("v") == folder.read("w"));
}

TEST_CASE(
    "a run on a GPU says what computes, allocates nothing in its steps and waits for nothing") {
  scratch_folder const folder;
  train_gpt_test::write_text(folder);
  json const r = train(folder, "--ranks 1 --steps 12 --batch 4");
  CHECK(r.at("matrix_products").get<std::string>().starts_with("cuBLASLt "));
  std::string const attention = r.at("attention").get<std::string>();
  CHECK((attention.starts_with("cuDNN ") || attention.starts_with("plain kernels (")));
  // Null where no CUPTI counts. The libraries of products and attention allocate on the host.
  for (std::string const figure : {"device_allocations_per_step", "host_waits_per_step"}) {
    CAPTURE(figure);
    CHECK((r.at(figure).is_null() || r.at(figure) == 0.0));
  }
  json const fp32 = train(folder, "--ranks 1 --steps 2 --batch 4 --precision fp32 --stage 3");
  CHECK(fp32.at("attention").get<std::string>().starts_with("plain kernels ("));
}

TEST_CASE("a timeline of a GPU is a file that a viewer opens") {
  scratch_folder const folder;
  train_gpt_test::write_text(folder);
  json const plain = train(folder, "--ranks 2 --steps 6 --batch 4 --precision fp32 --stage 3");
  json const timed =
      train(folder, "--ranks 2 --steps 6 --batch 4 --precision fp32 --stage 3 --timeline t.json");
  check_same(plain, timed);
  train_gpt_test::check_timeline_file(json::parse(folder.read("t.json")));
}

#if TRAIN_GPT_HAS_NCCL

TEST_CASE("two processes over NCCL train what two threads train") {
  scratch_folder const folder;
  train_gpt_test::write_text(folder);
  std::string const options = "--ranks 2 --steps 12 --batch 4";
  json const threads = train(folder, options);
  json const processes = train(
      folder, options + " --comm nccl", std::string(RUN_PROCESSES "' --limit 120 2 '") + TRAIN_GPT);
  check_same(threads, processes);
}

#endif
