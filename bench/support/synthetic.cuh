// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/cuda.cuh>

#include <boost/hana/define_struct.hpp>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// @file
/// What the benches of engines share: a model of equal units without computation, and tables.

namespace bench {

/// A model of units that are one bf16 tensor each.
struct Units {
  BOOST_HANA_DEFINE_STRUCT(Units, (std::vector<zero::Tensor<zero::bf16>>, units));
};

[[nodiscard]] inline Units equal_units(int count, std::int64_t elements) {
  Units model;
  for (int i = 0; i < count; ++i) {
    model.units.emplace_back(zero::shape{elements});
  }
  return model;
}

/// The passes of one step in which `forward(l, lease)` and `backward(l, lease)` are the user's
/// work.
template <class Engine, class Forward, class Backward>
void passes(
    Engine& engine, int units, std::int64_t micro_steps, Forward&& forward, Backward&& backward) {
  for ([[maybe_unused]] auto micro : engine.micro_steps(micro_steps)) {
    for (int l = 0; l < units; ++l) {
      auto lease = engine.forward(&Units::units, l);
      forward(l, lease);
    }
    for (int l = units; l-- > 0;) {
      auto lease = engine.backward(&Units::units, l);
      backward(l, lease);
    }
  }
}

/// Rows for people, and the same as JSON.
class table {
 public:
  explicit table(std::vector<std::pair<std::string, int>> columns)
      : columns_(std::move(columns)) {
    for (auto const& [name, width] : columns_) {
      std::printf("%*s", width, name.c_str());
    }
    std::printf("\n");
  }

  /// One cell a column, already text; numbers as JSON reads them.
  void row(std::vector<std::string> const& cells) {
    json_ += json_.empty() ? "\n    {" : ",\n    {";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      std::printf("%*s", columns_[i].second, cells[i].c_str());
      bool const number = cells[i].find_first_not_of("0123456789.-+e") == std::string::npos;
      json_ += (i == 0 ? "\"" : ", \"") + columns_[i].first +
               "\": " + (number ? cells[i] : "\"" + cells[i] + "\"");
    }
    json_ += "}";
    std::printf("\n");
    std::fflush(stdout);
  }

  /// Writes the rows to a file; nothing for an empty name.
  void write(std::string const& file) const {
    if (!file.empty()) {
      std::ofstream(file) << "{\n  \"rows\": [" << json_ << "\n  ]\n}\n";
    }
  }

 private:
  std::vector<std::pair<std::string, int>> columns_;
  std::string json_;
};

[[nodiscard]] inline std::string text(double value, int digits) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*f", digits, value);
  return buffer;
}

[[nodiscard]] inline std::string json_file(int argc, char** argv) {
  if (argc == 1) {
    return {};
  }
  if (argc == 3 && std::string(argv[1]) == "--json") {
    return argv[2];
  }
  std::fprintf(stderr, "usage: %s [--json FILE]\n", argv[0]);
  std::exit(2);
}

/// Calls `f.template operator()<Stage<s>>()` for all four.
template <class F>
void for_stages(F&& f) {
  f.template operator()<zero::Stage<0>>();
  f.template operator()<zero::Stage<1>>();
  f.template operator()<zero::Stage<2>>();
  f.template operator()<zero::Stage<3>>();
}

}  // namespace bench
