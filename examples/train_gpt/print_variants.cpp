// SPDX-License-Identifier: Apache-2.0
// train_gpt_options [--variants] OPTION...: checks a command line of train_gpt, the text included,
// without training. With --variants, prints the engine types that it needs, one a line, so that a
// script can build just those. A small program: it knows nothing of engines.
#include "corpus.hpp"
#include "options.hpp"

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  try {
    std::vector<std::string> arguments(argv + 1, argv + argc);
    bool const names = !arguments.empty() && arguments.front() == "--variants";
    if (names) {
      arguments.erase(arguments.begin());
    }
    train_gpt::options const chosen = train_gpt::parse(arguments);
    if (chosen.help && !names) {
      std::fputs(train_gpt::usage().c_str(), stdout);
    }
    if (!chosen.help) {
      train_gpt::check_memory(chosen);
      (void)train_gpt::corpus::read(chosen.data, chosen.shape.context);
    }
    if (names && !chosen.help) {
      for (int const stage : train_gpt::stages_of(chosen)) {
        std::printf("%s\n", train_gpt::variant_name(chosen, stage).c_str());
      }
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
