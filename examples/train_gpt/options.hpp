// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shape.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace train_gpt {

/// Something the user typed cannot be used. `what()` is one sentence; the program prints it on
/// standard error and exits with status 2.
class bad_input : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What a command line asks for. Choices are kept as the words they were given in.
struct options {
  // How the training is distributed.
  int stage = 2;
  int ranks = 4;
  std::string precision = "bf16";
  std::string accumulate = "fp32";
  std::string reduction = "ordered";
  std::string offload = "none";
  std::string device = "host";
  std::string comm = "local";
  std::string registration = "none";  ///< of NCCL's ranks
  bool deterministic = false;

  // What is trained, and how long.
  gpt_shape shape;
  std::int64_t batch = 4;        ///< windows a rank sees in a micro-step
  std::int64_t micro_steps = 1;  ///< micro-steps a step
  std::int64_t steps = 800;
  std::string optimizer = "adamw";
  double clip = 1.0;  ///< largest norm of the gradient; 0 is off
  double lr = 0.0;    ///< peak learning rate; parse() puts the optimizer's own where none was given
  std::uint64_t seed = 1;

  // Text, files, output.
  std::vector<std::string> data;  ///< files and folders; empty: the compiler's C++ headers
  std::string timeline;
  std::string report;
  std::string save_weights;
  std::string load_weights;
  bool compare = false;
  bool quiet = false;
  bool help = false;
};

/// Reads a command line, without the program's name, and checks all that can be checked without
/// opening the text.
/// @throws bad_input
[[nodiscard]] options parse(std::vector<std::string> const& arguments);

/// The list of options with their defaults, as `--help` prints it.
[[nodiscard]] std::string usage();

/// The name of the engine type that trains one stage under these options, for example
/// `stage2_bf16_fp32_ordered_adamw`: the words of `--stage`, `--precision`, `--accumulate`,
/// `--reduction` and `--optimizer`, and, with `--device gpu`, `_gpu_` and the word of `--comm`. One
/// translation unit is built for each; see CMakeLists.txt.
[[nodiscard]] std::string variant_name(options const& chosen, int stage);

/// Tokens that all ranks together see in a step.
[[nodiscard]] std::int64_t tokens_of_step(options const& chosen);

/// Checks that this machine's memory can hold what the options ask for: parameters, gradients and
/// optimizer state once, as in stage 3, and the activations of each rank. Whether it will is for
/// the engine to say, whose plan knows every byte. @throws bad_input
void check_memory(options const& chosen);

/// The stages that these options train: all of them under `--compare`, else the one chosen.
[[nodiscard]] std::vector<int> stages_of(options const& chosen);

}  // namespace train_gpt
