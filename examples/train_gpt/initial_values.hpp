// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shape.hpp"

#include <zero/parameter_view.hpp>

#include <cstdint>
#include <span>

namespace train_gpt {

/// Writes the initial values of elements first, first + 1, ... of a parameter: GPT-2's, with a
/// deviation that suits the width. They depend on the seed, the name and the element alone, so that
/// every stage and number of ranks starts from the same model.
void initial_values(zero::parameter_view const& parameter,
                    std::int64_t first,
                    std::span<float> values,
                    gpt_shape const& shape,
                    std::uint64_t seed);

}  // namespace train_gpt
