// SPDX-License-Identifier: Apache-2.0
// The example's command line: what is read, and the sentence for each mistake.
#include "examples/train_gpt/options.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

using train_gpt::parse;

/// The sentence that a command line is refused with; empty if it is accepted.
std::string refusal(std::vector<std::string> const& arguments) {
  try {
    (void)parse(arguments);
    return "";
  } catch (train_gpt::bad_input const& error) {
    return error.what();
  }
}

bool is_one_sentence(std::string const& text) {
  return !text.empty() && text.back() == '.' && text.find('\n') == std::string::npos;
}

}  // namespace

TEST_CASE("without options, the defaults are those that the help lists") {
  train_gpt::options const o = parse({});
  CHECK(o.stage == 2);
  CHECK(o.ranks == 4);
  CHECK(o.micro_steps == 1);
  CHECK(o.precision == "bf16");
  CHECK(o.accumulate == "fp32");
  CHECK(o.reduction == "ordered");
  CHECK(o.offload == "none");
  CHECK(o.optimizer == "adamw");
  CHECK(o.clip == 1.0);
  CHECK(o.data.empty());
  CHECK_FALSE(o.compare);

  std::string const help = train_gpt::usage();
  auto const lists = [&help](std::string const& option, std::string const& value) {
    CAPTURE(option);
    auto const row = help.find("  " + option + " ");
    REQUIRE(row != std::string::npos);
    std::string const line = help.substr(row, help.find('\n', row) - row);
    CHECK(line.ends_with("[" + value + "]"));
  };
  lists("--stage", std::to_string(o.stage));
  lists("--ranks", std::to_string(o.ranks));
  lists("--steps", std::to_string(o.steps));
  lists("--micro-steps", std::to_string(o.micro_steps));
  lists("--precision", o.precision);
  lists("--accumulate", o.accumulate);
  lists("--reduction", o.reduction);
  lists("--offload", o.offload);
  lists("--optimizer", o.optimizer);
  lists("--layers", std::to_string(o.shape.layers));
  lists("--channels", std::to_string(o.shape.channels));
  lists("--heads", std::to_string(o.shape.heads));
  lists("--context", std::to_string(o.shape.context));
  lists("--batch", std::to_string(o.batch));
  lists("--seed", std::to_string(o.seed));
  lists("--clip", "1");
}

TEST_CASE("options are read in any order, and the last one counts") {
  train_gpt::options const o = parse({"--channels",
                                      "96",
                                      "--data",
                                      "a.txt",
                                      "folder",
                                      "--lr",
                                      "1e-3",
                                      "--heads",
                                      "6",
                                      "--quiet",
                                      "--clip",
                                      "0",
                                      "--seed",
                                      "18446744073709551615",
                                      "--heads",
                                      "3"});
  CHECK(o.shape.channels == 96);
  CHECK(o.shape.heads == 3);
  CHECK(o.data == std::vector<std::string>{"a.txt", "folder"});
  CHECK(o.lr == 1e-3);
  CHECK(o.clip == 0.0);
  CHECK(o.quiet);
  CHECK(o.seed == UINT64_MAX);
}

TEST_CASE("the learning rate suits the optimizer unless it is given") {
  CHECK(parse({"--optimizer", "adamw"}).lr == parse({}).lr);
  CHECK(parse({"--optimizer", "sgd"}).lr != parse({}).lr);
  CHECK(parse({"--optimizer", "lion"}).lr != parse({}).lr);
  CHECK(parse({"--lr", "0.25", "--optimizer", "sgd"}).lr == 0.25);
}

TEST_CASE("bad input is refused with one sentence that names it") {
  struct {
    std::vector<std::string> arguments;
    std::string names;
  } const cases[] = {
      {{"--frobnicate"}, "--frobnicate"},
      {{"stray"}, "stray"},
      {{""}, "''"},
      {{"-h"}, "-h"},
      {{"--steps"}, "--steps"},
      {{"--steps", "--quiet"}, "--steps"},
      {{"--data"}, "--data"},
      {{"--quiet", "yes"}, "yes"},
      {{"--steps", "abc"}, "abc"},
      {{"--steps", "12x"}, "12x"},
      {{"--steps", "1.5"}, "1.5"},
      {{"--steps", ""}, "--steps"},
      {{"--steps", " 5"}, "--steps"},
      {{"--steps", "0"}, "--steps"},
      {{"--steps", "-1"}, "-1"},
      {{"--steps", "99999999999999999999"}, "--steps"},
      {{"--stage", "4"}, "4"},
      {{"--stage", "-1"}, "-1"},
      {{"--ranks", "0"}, "--ranks"},
      {{"--ranks", "65"}, "65"},
      {{"--micro-steps", "0"}, "--micro-steps"},
      {{"--seed", "-1"}, "--seed"},
      {{"--seed", "18446744073709551616"}, "--seed"},
      {{"--lr", "nan"}, "nan"},
      {{"--lr", "inf"}, "inf"},
      {{"--lr", "-0.1"}, "-0.1"},
      {{"--lr", "1e999"}, "1e999"},
      {{"--lr", "fast"}, "fast"},
      {{"--lr", "0x10"}, "0x10"},
      {{"--clip", "-1"}, "-1"},
      {{"--clip", "infinity"}, "infinity"},
      {{"--clip", "nan"}, "nan"},
      {{"--precision", "fp8"}, "fp8"},
      {{"--precision", "BF16"}, "BF16"},
      {{"--accumulate", "bf16"}, "bf16"},
      {{"--reduction", "fast"}, "fast"},
      {{"--offload", "cpu"}, "cpu"},
      {{"--device", "tpu"}, "tpu"},
      {{"--comm", "nccl"}, "--device gpu"},
      {{"--comm", "mpi"}, "mpi"},
      {{"--registration", "peers"}, "--comm nccl"},
      {{"--registration", "windows"}, "windows"},
      {{"--vocabulary", "255"}, "255"},
      {{"--device", "gpu", "--channels", "100"}, "--channels"},
      {{"--device", "gpu", "--channels", "256", "--heads", "1"}, "--heads"},
      {{"--optimizer", "muon"}, "muon"},
      {{"--channels", "100", "--heads", "3"}, "--heads"},
      {{"--heads", "256"}, "--heads"},
      {{"--load-weights", "/no/such/file"}, "/no/such/file"},
      {{"--load-weights", "/"}, "--load-weights"},
      {{"--save-weights", "/no/such/folder/file"}, "/no/such/folder/file"},
      {{"--save-weights", "/tmp"}, "/tmp"},
      {{"--save-weights", ""}, "--save-weights"},
      {{"--report", "/no/such/folder/file"}, "--report"},
      {{"--compare", "--save-weights", "weights"}, "--save-weights"},
  };

  for (auto const& c : cases) {
    std::string const sentence = refusal(c.arguments);
    CAPTURE(sentence);
    CAPTURE(c.names);
    CHECK(is_one_sentence(sentence));
    CHECK(sentence.find(c.names) != std::string::npos);
  }
}

TEST_CASE("help is given whatever else is on the line") {
  CHECK(parse({"--help"}).help);
  CHECK(parse({"--help", "--heads", "7"}).help);
}

TEST_CASE("a variant is named by the words of its options") {
  CHECK(train_gpt::variant_name(parse({}), 3) == "stage3_bf16_fp32_ordered_adamw");
  CHECK(train_gpt::variant_name(parse({"--precision",
                                       "fp16",
                                       "--accumulate",
                                       "native",
                                       "--reduction",
                                       "native",
                                       "--optimizer",
                                       "lion"}),
                                0) == "stage0_fp16_native_native_lion");
  CHECK(train_gpt::stages_of(parse({"--stage", "1"})) == std::vector<int>{1});
  CHECK(train_gpt::stages_of(parse({"--stage", "1", "--compare"})) == std::vector<int>{0, 1, 2, 3});
}

TEST_CASE("a step's tokens are those of all ranks and micro-steps") {
  CHECK(train_gpt::tokens_of_step(parse(
            {"--ranks", "3", "--micro-steps", "5", "--batch", "2", "--context", "7"})) == 210);
}

TEST_CASE("a model that no machine holds is refused before it is tried") {
  CHECK_NOTHROW(train_gpt::check_memory(parse({})));
  std::vector<std::string> const arguments = {
      "--layers", "65536", "--channels", "65536", "--context", "1048576", "--batch", "65536"};
  CHECK(refusal(arguments).empty());
  try {
    train_gpt::check_memory(parse(arguments));
    FAIL("it was not refused");
  } catch (train_gpt::bad_input const& error) {
    CHECK(is_one_sentence(error.what()));
  }
}
