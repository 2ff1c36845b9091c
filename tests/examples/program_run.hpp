// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/examples/scratch_folder.hpp"

#include <cstdlib>
#include <string>
#include <sys/wait.h>

/// Runs the example as its user does.
namespace train_gpt_test {

struct outcome {
  int status = -1;
  std::string output;
  std::string errors;
};

/// Runs a command line in a folder of its own.
inline outcome run(scratch_folder const& folder,
                   std::string const& program,
                   std::string const& options) {
  std::string const command = "cd '" + folder.path(".") + "' && '" + program + "' " + options +
                              " >output 2>errors </dev/null";
  int const status = std::system(command.c_str());
  return {
      WIFEXITED(status) ? WEXITSTATUS(status) : -1, folder.read("output"), folder.read("errors")};
}

/// Something to train on, as the file `text`.
inline void write_text(scratch_folder const& folder) {
  std::string text;
  for (int i = 0; i < 200; ++i) {
    text += "all work and no play makes " + std::to_string(i * i % 17) + "\n";
  }
  folder.write("text", text);
}

}  // namespace train_gpt_test
