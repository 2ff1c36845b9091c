// SPDX-License-Identifier: Apache-2.0
// Tokens per second of the GPT of examples/train_gpt on one GPU: zero's engine at each stage
// against a loop without it, with the same kernels. The contestants live in one process and take
// turns, so that they meet the same clocks.
//
// Run: bench_gpu_train_gpt [--turns 7] [--steps-per-turn 20] [--json FILE] [OPTION of train_gpt...]
// The sizes are GPT-2's of 124 million parameters, 8 windows of 1024 tokens, unless options say
// otherwise.
#include "bench/gpu/train_gpt/contestant.hpp"

#include <zero/device/gpu/error.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace {

struct entry {
  char const* name;
  std::unique_ptr<bench::contestant> who;
  std::vector<double> seconds;  ///< a step, one a turn
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Takes `name` and the word after it out of the arguments.
std::string take(std::vector<std::string>& arguments, std::string const& name, std::string value) {
  auto const at = std::find(arguments.begin(), arguments.end(), name);
  if (at != arguments.end() && at + 1 != arguments.end()) {
    value = *(at + 1);
    arguments.erase(at, at + 2);
  }
  return value;
}

/// Text of a library inside a JSON string.
std::string in_json(std::string text) {
  std::replace_if(
      text.begin(),
      text.end(),
      [](char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' '; },
      ' ');
  return text;
}

double run_turn(bench::contestant& who, int steps) {
  using clock = std::chrono::steady_clock;
  zero::check_cuda(cudaStreamSynchronize(who.stream()), "cudaStreamSynchronize");
  auto const start = clock::now();
  for (int i = 0; i < steps; ++i) {
    who.step();
  }
  zero::check_cuda(cudaStreamSynchronize(who.stream()), "cudaStreamSynchronize");
  return std::chrono::duration<double>(clock::now() - start).count() / steps;
}

void run(std::vector<std::string> arguments) {
  int const turns = std::stoi(take(arguments, "--turns", "7"));
  int const steps = std::stoi(take(arguments, "--steps-per-turn", "20"));
  std::string const json = take(arguments, "--json", "");
  std::vector<std::string> all = {"--device", "gpu", "--layers",  "12",   "--channels",   "768",
                                  "--heads",  "12",  "--context", "1024", "--vocabulary", "50304",
                                  "--batch",  "8",   "--ranks",   "1",    "--lr",         "0.0006",
                                  "--steps",  "1000"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  train_gpt::options const chosen = train_gpt::parse(all);
  train_gpt::corpus const text = train_gpt::corpus::read(chosen.data, chosen.shape.context);
  bench::task const task{chosen, text};

  std::vector<entry> entries;
  entries.push_back({"bare", bench::make_bare(task), {}});
  entries.push_back({"stage 0", bench::make_stage0(task), {}});
  entries.push_back({"stage 1", bench::make_stage1(task), {}});
  entries.push_back({"stage 2", bench::make_stage2(task), {}});
  entries.push_back({"stage 3", bench::make_stage3(task), {}});
  for (int turn = -1; turn < turns; ++turn) {
    for (std::size_t i = 0; i < entries.size(); ++i) {  // begins with another one each turn
      entry& e = entries[(i + static_cast<std::size_t>(turn + 1)) % entries.size()];
      double const seconds = run_turn(*e.who, steps);
      if (turn >= 0) {
        e.seconds.push_back(seconds);
      }
    }
  }

  double const tokens = static_cast<double>(chosen.batch * chosen.shape.context);
  double const bare = median(entries.front().seconds);
  std::string lines;
  std::string const products = entries.front().who->matrix_products();
  std::string const attention = entries.front().who->attention();
  std::printf("Matrix products by %s, attention by %s\n", products.c_str(), attention.c_str());
  std::printf("%-10s %12s %10s %10s %10s %10s %10s\n",
              "",
              "tokens/s",
              "ms a step",
              "least",
              "most",
              "of bare",
              "loss");
  for (entry& e : entries) {
    double const middle = median(e.seconds);
    auto const [least, most] = std::minmax_element(e.seconds.begin(), e.seconds.end());
    double const loss = e.who->loss();
    std::printf("%-10s %12.0f %10.3f %10.3f %10.3f %10.4f %10.6f\n",
                e.name,
                tokens / middle,
                1e3 * middle,
                1e3 * *least,
                1e3 * *most,
                bare / middle,
                loss);
    char line[2048];
    std::snprintf(line,
                  sizeof line,
                  "%s  {\"name\": \"%s\", \"tokens_per_second\": %.1f, \"ms\": %.4f, \"ms_min\": "
                  "%.4f, \"ms_max\": %.4f, \"of_bare\": %.5f, \"loss\": %.9g, "
                  "\"matrix_products\": \"%s\", \"attention\": \"%s\"}",
                  lines.empty() ? "" : ",\n",
                  e.name,
                  tokens / middle,
                  1e3 * middle,
                  1e3 * *least,
                  1e3 * *most,
                  bare / middle,
                  loss,
                  in_json(products).c_str(),
                  in_json(attention).c_str());
    lines += line;
  }
  if (!json.empty()) {
    std::FILE* const file = std::fopen(json.c_str(), "w");
    if (file == nullptr) {
      throw train_gpt::bad_input("--json: " + json + " cannot be written.");
    }
    std::fprintf(file, "[\n%s\n]\n", lines.c_str());
    std::fclose(file);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run({argv + 1, argv + argc});
    return 0;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "bench_gpu_train_gpt: %s\n", error.what());
    return 1;
  }
}
