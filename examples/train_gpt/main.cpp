// SPDX-License-Identifier: Apache-2.0
// Trains a small GPT on text under ZeRO; see README.md.
#include "blas.hpp"
#include "compare.hpp"
#include "corpus.hpp"
#include "options.hpp"
#include "report.hpp"
#include "variants.hpp"

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace train_gpt {

namespace {

train_function variant_for(options const& chosen, int stage) {
  std::string const name = variant_name(chosen, stage);
  if (train_function const found = find_variant(name)) {
    return found;
  }
  throw bad_input("This program was built without " + name +
                  "; run examples/run, which builds what the options need, or configure with "
                  "-DZERO_GPT_VARIANTS=" +
                  name + ".");
}

void run(options const& chosen) {
  std::vector<train_function> trainings;
  for (int const stage : stages_of(chosen)) {
    trainings.push_back(variant_for(chosen, stage));
  }
  check_memory(chosen);
  corpus const text = corpus::read(chosen.data, chosen.shape.context);
  multiply_on_one_thread();

  std::vector<run_report> reports;
  reports.reserve(trainings.size());
  for (train_function const train : trainings) {
    reports.push_back(train(chosen, text));
  }
  if (!reports.front().first_rank) {
    return;  // another process tells
  }
  if (!chosen.report.empty()) {
    write_json(reports, chosen.compare, chosen.report);
  }
  if (chosen.compare) {
    print_comparison(reports);
    check_equal(reports);
  } else if (!chosen.quiet) {
    print_summary(reports.front());
  }
}

}  // namespace

}  // namespace train_gpt

int main(int argc, char** argv) {
  try {
    train_gpt::options const chosen = train_gpt::parse({argv + 1, argv + argc});
    if (chosen.help) {
      std::fputs(train_gpt::usage().c_str(), stdout);
    } else {
      train_gpt::run(chosen);
    }
    return 0;
  } catch (train_gpt::bad_input const& error) {
    std::fprintf(stderr, "train_gpt: %s\n", error.what());
    return 2;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "train_gpt: %s\n", error.what());
    return 1;
  }
}
