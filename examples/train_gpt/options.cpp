// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace train_gpt {

namespace {

/// The option being read and the words that follow it.
struct given {
  std::string_view option;
  std::span<std::string const> words;

  [[noreturn]] void refuse(std::string const& wanted) const {
    throw bad_input(std::string(option) + " must be " + wanted + ", not '" + words.front() + "'.");
  }

  template <class Number>
  [[nodiscard]] Number parsed(std::string const& wanted) const {
    Number number{};
    char const* const first = words.front().data();
    char const* const last = first + words.front().size();
    auto const [end, error] = std::from_chars(first, last, number);
    if (error != std::errc{} || end != last) {
      refuse(wanted);
    }
    return number;
  }

  template <class Integer>
  void read(Integer& value, Integer least, Integer most) const {
    std::string const wanted =
        "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
    auto const number = parsed<Integer>(wanted);
    if (number < least || number > most) {
      refuse(wanted);
    }
    value = number;
  }

  void read(double& value, std::string const& wanted, double most) const {
    auto const number = parsed<double>(wanted);
    if (!std::isfinite(number) || std::signbit(number) || number > most) {
      refuse(wanted);
    }
    value = number;
  }

  void read(std::string& value, std::initializer_list<std::string_view> known) const {
    if (std::ranges::find(known, words.front()) == known.end()) {
      std::string wanted;
      for (std::string_view const word : known) {
        wanted += (wanted.empty() ? "" : " or ") + std::string(word);
      }
      refuse(wanted);
    }
    value = words.front();
  }

  void read_text(std::string& value) const {
    if (words.front().empty()) {
      throw bad_input(std::string(option) + " needs a file's name.");
    }
    value = words.front();
  }
};

enum class words_after : std::uint8_t { none, one, several };

/// One row of the table below: everything the program knows about an option.
struct option_row {
  char const* name;
  words_after words;
  char const* argument;
  char const* help;
  void (*read)(options&, given const&);
};

constexpr std::int64_t most_steps = 100'000'000;

constexpr option_row table[] = {
    {"--stage",
     words_after::one,
     "0|1|2|3",
     "what the ranks share: nothing, optimizer, + gradients, + parameters [2]",
     [](options& o, given const& g) { g.read(o.stage, 0, 3); }},
    {"--ranks",
     words_after::one,
     "N",
     "number of ranks, threads of this process; with --comm nccl the launcher says it [4]",
     [](options& o, given const& g) { g.read(o.ranks, 1, 64); }},
    {"--steps",
     words_after::one,
     "N",
     "optimizer steps [800]",
     [](options& o, given const& g) { g.read(o.steps, std::int64_t{1}, most_steps); }},
    {"--micro-steps",
     words_after::one,
     "N",
     "micro-steps whose gradients make one step [1]",
     [](options& o, given const& g) {
       g.read(o.micro_steps, std::int64_t{1}, std::int64_t{65536});
     }},
    {"--precision",
     words_after::one,
     "fp32|bf16|fp16",
     "type of parameters and gradients [bf16]",
     [](options& o, given const& g) { g.read(o.precision, {"fp32", "bf16", "fp16"}); }},
    {"--accumulate",
     words_after::one,
     "fp32|native",
     "type of the gradient accumulators; native is that of the parameters [fp32]",
     [](options& o, given const& g) { g.read(o.accumulate, {"fp32", "native"}); }},
    {"--reduction",
     words_after::one,
     "ordered|native",
     "ordered adds the ranks in rank order in fp32 [ordered]",
     [](options& o, given const& g) { g.read(o.reduction, {"ordered", "native"}); }},
    {"--offload",
     words_after::one,
     "none",
     "where the optimizer's state lives when not on the device [none]",
     [](options& o, given const& g) { g.read(o.offload, {"none"}); }},
    {"--device",
     words_after::one,
     "host|gpu",
     "what computes; gpu: NVIDIA's, of compute capability 8.0 or newer [host]",
     [](options& o, given const& g) { g.read(o.device, {"host", "gpu"}); }},
    {"--comm",
     words_after::one,
     "local|nccl",
     "how ranks talk: threads of one process, or processes that a launcher starts [local]",
     [](options& o, given const& g) { g.read(o.comm, {"local", "nccl"}); }},
    {"--registration",
     words_after::one,
     "none|peers",
     "with --comm nccl; peers: the processes of one host reach each other's memory [none]",
     [](options& o, given const& g) { g.read(o.registration, {"none", "peers"}); }},
    {"--deterministic",
     words_after::none,
     "",
     "on a GPU: no sum depends on timing, so that runs can be compared bit by bit",
     [](options& o, given const&) { o.deterministic = true; }},
    {"--optimizer",
     words_after::one,
     "adamw|sgd|lion",
     "update rule [adamw]",
     [](options& o, given const& g) { g.read(o.optimizer, {"adamw", "sgd", "lion"}); }},
    {"--lr",
     words_after::one,
     "X",
     "peak learning rate [adamw 0.005, sgd 0.1, lion 0.0005]",
     [](options& o, given const& g) { g.read(o.lr, "a number from 0 to 1000", 1000.0); }},
    {"--clip",
     words_after::one,
     "X",
     "largest norm of the gradient, 0 is off [1]",
     [](options& o, given const& g) {
       g.read(o.clip,
              "a finite number that is not negative (0 is off)",
              std::numeric_limits<double>::max());
     }},
    {"--layers",
     words_after::one,
     "N",
     "transformer blocks [4]",
     [](options& o, given const& g) {
       g.read(o.shape.layers, std::int64_t{1}, std::int64_t{65536});
     }},
    {"--channels",
     words_after::one,
     "N",
     "width of the model [128]",
     [](options& o, given const& g) {
       g.read(o.shape.channels, std::int64_t{1}, std::int64_t{65536});
     }},
    {"--heads",
     words_after::one,
     "N",
     "attention heads; must divide the channels [4]",
     [](options& o, given const& g) {
       g.read(o.shape.heads, std::int64_t{1}, std::int64_t{65536});
     }},
    {"--context",
     words_after::one,
     "N",
     "length of a window of text, in bytes [64]",
     [](options& o, given const& g) {
       g.read(o.shape.context, std::int64_t{1}, std::int64_t{1'048'576});
     }},
    {"--vocabulary",
     words_after::one,
     "N",
     "rows of the tokens' embedding; text uses the first 256 [256]",
     [](options& o, given const& g) {
       g.read(o.shape.vocabulary, std::int64_t{256}, std::int64_t{1'048'576});
     }},
    {"--batch",
     words_after::one,
     "N",
     "windows a rank sees in a micro-step [4]",
     [](options& o, given const& g) { g.read(o.batch, std::int64_t{1}, std::int64_t{65536}); }},
    {"--data",
     words_after::several,
     "FILE|FOLDER...",
     "text to train on [the C++ standard library's headers]",
     [](options& o, given const& g) { o.data.assign(g.words.begin(), g.words.end()); }},
    {"--seed",
     words_after::one,
     "N",
     "of initial values, order of the text and the sample [1]",
     [](options& o, given const& g) {
       g.read(o.seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max());
     }},
    {"--report",
     words_after::one,
     "FILE",
     "write what was measured as JSON",
     [](options& o, given const& g) { g.read_text(o.report); }},
    {"--timeline",
     words_after::one,
     "FILE",
     "write when rank 0's operations ran in the last three steps, for ui.perfetto.dev",
     [](options& o, given const& g) { g.read_text(o.timeline); }},
    {"--save-weights",
     words_after::one,
     "FILE",
     "write the trained weights (safetensors)",
     [](options& o, given const& g) { g.read_text(o.save_weights); }},
    {"--load-weights",
     words_after::one,
     "FILE",
     "start from these weights (safetensors)",
     [](options& o, given const& g) { g.read_text(o.load_weights); }},
    {"--compare",
     words_after::none,
     "",
     "train stages 0-3 one after the other and print one table",
     [](options& o, given const&) { o.compare = true; }},
    {"--quiet",
     words_after::none,
     "",
     "print nothing but errors (and the table of --compare)",
     [](options& o, given const&) { o.quiet = true; }},
    {"--help",
     words_after::none,
     "",
     "print this list",
     [](options& o, given const&) { o.help = true; }},
};

option_row const& row_of(std::string const& name) {
  for (option_row const& row : table) {
    if (row.name == name) {
      return row;
    }
  }
  throw bad_input("'" + name + "' is not an option; --help lists them.");
}

/// A file to be written needs a folder that is there, and a name that is no folder's.
void check_writable(std::string const& option, std::string const& file) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  fs::path const folder = fs::absolute(file, ignored).parent_path();
  if (!fs::is_directory(folder, ignored)) {
    throw bad_input(option + " names '" + file + "', whose folder does not exist.");
  }
  if (fs::is_directory(file, ignored)) {
    throw bad_input(option + " names '" + file + "', which is a folder.");
  }
}

/// Rules that join several options.
void check_together(options const& o) {
  if (o.shape.channels % o.shape.heads != 0) {
    throw bad_input("--heads must divide --channels, and " + std::to_string(o.shape.heads) +
                    " does not divide " + std::to_string(o.shape.channels) + ".");
  }
  if (o.comm == "nccl" && o.device != "gpu") {
    throw bad_input("--comm nccl needs --device gpu.");
  }
  if (o.registration != "none" && o.comm != "nccl") {
    throw bad_input("--registration peers needs --comm nccl.");
  }
  if (o.device == "gpu" &&
      (o.shape.channels % 8 != 0 || o.shape.vocabulary % 8 != 0 ||
       o.shape.channels / o.shape.heads % 8 != 0 || o.batch * o.shape.context % 8 != 0)) {
    throw bad_input(
        "--device gpu needs --channels, channels a head, --vocabulary and --batch times --context "
        "to be multiples of 8.");
  }
  if (o.device == "gpu" && o.shape.channels / o.shape.heads > 128) {
    throw bad_input("--device gpu needs at most 128 channels a head; use more --heads.");
  }
  if (o.compare && !o.save_weights.empty()) {
    throw bad_input("--save-weights keeps one model and --compare trains four; leave one out.");
  }
  if (o.compare && !o.timeline.empty()) {
    throw bad_input("--timeline is of one run and --compare makes four; leave one out.");
  }
  std::error_code ignored;
  if (!o.load_weights.empty() && !std::filesystem::is_regular_file(o.load_weights, ignored)) {
    throw bad_input("--load-weights names '" + o.load_weights + "', which is not a file.");
  }
  if (!o.save_weights.empty()) {
    check_writable("--save-weights", o.save_weights);
  }
  if (!o.report.empty()) {
    check_writable("--report", o.report);
  }
  if (!o.timeline.empty()) {
    check_writable("--timeline", o.timeline);
  }
}

}  // namespace

options parse(std::vector<std::string> const& arguments) {
  options result;
  bool rate_given = false;
  std::span<std::string const> rest = arguments;
  while (!rest.empty()) {
    option_row const& row = row_of(rest.front());
    rest = rest.subspan(1);
    std::size_t count = 0;
    while (count < rest.size() && !rest[count].starts_with("--") &&
           (row.words == words_after::several || (row.words == words_after::one && count == 0))) {
      ++count;
    }
    if (count == 0 && row.words != words_after::none) {
      throw bad_input(std::string(row.name) + " needs " + row.argument + " after it.");
    }
    row.read(result, {row.name, rest.first(count)});
    rate_given = rate_given || row.name == std::string_view("--lr");
    rest = rest.subspan(count);
  }
  if (!rate_given) {
    result.lr = result.optimizer == "adamw" ? 0.005 : result.optimizer == "sgd" ? 0.1 : 0.0005;
  }
  if (!result.help) {
    check_together(result);
  }
  return result;
}

std::string usage() {
  std::string text =
      "train_gpt: trains a small GPT on text under ZeRO and shows what each stage costs.\n\n";
  for (option_row const& row : table) {
    std::string line = std::string("  ") + row.name + " " + row.argument;
    line.resize(std::max<std::size_t>(line.size() + 1, 33), ' ');
    text += line + row.help + "\n";
  }
  return text;
}

std::string variant_name(options const& chosen, int stage) {
  return "stage" + std::to_string(stage) + "_" + chosen.precision + "_" + chosen.accumulate + "_" +
         chosen.reduction + "_" + chosen.optimizer +
         (chosen.device == "gpu" ? "_gpu_" + chosen.comm : "");
}

void check_memory(options const& chosen) {
  if (chosen.device != "host") {
    return;
  }
  // In doubles, since nothing else bounds these products.
  auto const layers = static_cast<double>(chosen.shape.layers);
  auto const channels = static_cast<double>(chosen.shape.channels);
  auto const context = static_cast<double>(chosen.shape.context);
  auto const heads = static_cast<double>(chosen.shape.heads);
  auto const rows = static_cast<double>(chosen.batch) * context;

  double const parameters =
      (12 * layers * channels + static_cast<double>(chosen.shape.vocabulary) + context) * channels;
  double const activations = 4 * rows * layers * (18 * channels + heads * context);  // a rank
  double const needed = 12 * parameters + chosen.ranks * activations;
  double const installed =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (needed > installed) {
    auto const gigabytes = [](double bytes) {
      return std::to_string(static_cast<std::int64_t>(std::min(bytes / 1e9, 1e18)));
    };
    throw bad_input("These options need at least " + gigabytes(needed) +
                    " GB of memory, and this machine has " + gigabytes(installed) +
                    "; choose smaller --layers, --channels, --context or --batch.");
  }
}

std::int64_t tokens_of_step(options const& chosen) {
  return chosen.ranks * chosen.micro_steps * chosen.batch * chosen.shape.context;
}

std::vector<int> stages_of(options const& chosen) {
  return chosen.compare ? std::vector<int>{0, 1, 2, 3} : std::vector<int>{chosen.stage};
}

}  // namespace train_gpt
