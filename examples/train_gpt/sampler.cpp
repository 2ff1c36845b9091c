// SPDX-License-Identifier: Apache-2.0
#include "sampler.hpp"

#include <zero/core/random.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace train_gpt {

sampler::sampler(std::uint64_t seed)
    : key_(zero::key_of("sample", seed)) {}

std::span<std::uint8_t const> sampler::latest(std::int64_t context) const {
  std::size_t const count = std::min(text_.size(), static_cast<std::size_t>(context));
  auto const* const end = reinterpret_cast<std::uint8_t const*>(text_.data()) + text_.size();
  return {end - count, count};
}

void sampler::draw(std::span<float const> probabilities) {
  std::array<double, 256> weights{};
  double sum = 0;
  for (std::size_t token = 0; token < weights.size(); ++token) {
    weights[token] = std::pow(static_cast<double>(probabilities[token]), 1 / 0.8);
    sum += weights[token];
  }
  double rest = sum * static_cast<double>(zero::uniform(key_, text_.size()));
  std::size_t chosen = 0;
  while (chosen + 1 < weights.size() && rest >= weights[chosen]) {
    rest -= weights[chosen++];
  }
  text_ += static_cast<char>(chosen);
}

std::string sampler::printable() const {
  std::string text = text_.substr(1);
  for (char& c : text) {
    bool const shown = (c >= ' ' && c <= '~') || c == '\n' || c == '\t';
    c = shown ? c : '.';
  }
  return text;
}

}  // namespace train_gpt
