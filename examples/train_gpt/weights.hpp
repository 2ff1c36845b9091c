// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "initial_values.hpp"
#include "options.hpp"
#include "safetensors.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace train_gpt {

/// Names and shapes of an engine's parameters, as a file of weights lists them.
template <class Engine>
[[nodiscard]] std::vector<tensor_shape> listed_tensors(Engine const& engine) {
  std::vector<tensor_shape> result;
  for (auto const& parameter : engine.parameters()) {
    tensor_shape& tensor = result.emplace_back();
    tensor.name = parameter.name;
    for (int i = 0; i < parameter.shape.rank(); ++i) {
      tensor.extents.push_back(parameter.shape[i]);
    }
  }
  return result;
}

/// Gives the parameters their first values: those of a file, or else of the seed. Collective.
template <class Engine>
void start_weights(Engine& engine, options const& chosen) {
  if (chosen.load_weights.empty()) {
    engine.initialize([&](auto const& parameter, std::int64_t first, std::span<float> values) {
      initial_values(parameter, first, values, chosen.shape, chosen.seed);
    });
  } else {
    safetensors_reader const file(chosen.load_weights, listed_tensors(engine));
    engine.initialize([&](auto const& parameter, std::int64_t first, std::span<float> values) {
      file.read(parameter.name, first, values);
    });
  }
}

/// Writes what was trained to a file, by rank 0. Collective.
template <class Engine>
void save_weights(Engine& engine, std::string const& path) {
  std::optional<safetensors_writer> file;
  if (engine.rank() == 0) {
    file.emplace(path, listed_tensors(engine));
  }
  engine.full([&](auto const&, std::int64_t, std::span<float const> values) {
    if (file) {
      file->write(values);
    }
  });
  if (file) {
    file->commit();
  }
}

}  // namespace train_gpt
