// SPDX-License-Identifier: Apache-2.0
#include "initial_values.hpp"
#include "shape.hpp"

#include <zero/core/random.hpp>
#include <zero/parameter_view.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace train_gpt {

void initial_values(zero::parameter_view const& parameter,
                    std::int64_t first,
                    std::span<float> values,
                    gpt_shape const& shape,
                    std::uint64_t seed) {
  std::string_view const name = parameter.name;
  if (name.ends_with("bias")) {
    std::ranges::fill(values, 0.0F);
    return;
  }
  if (name.ends_with("norm.weight") || name.ends_with("norm1.weight") ||
      name.ends_with("norm2.weight")) {
    std::ranges::fill(values, 1.0F);
    return;
  }
  // 0.02 at GPT-2's width of 768. What is added to the residual stream is smaller, since 2 layers
  // of it add up.
  double deviation = 0.02 * std::sqrt(768.0 / static_cast<double>(shape.channels));
  if (name.ends_with("out.weight") || name.ends_with("down.weight")) {
    deviation /= std::sqrt(2.0 * static_cast<double>(shape.layers));
  }
  std::uint64_t const key = zero::key_of(name, seed);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(deviation) *
                zero::approximately_normal(key, static_cast<std::uint64_t>(first) + i);
  }
}

}  // namespace train_gpt
