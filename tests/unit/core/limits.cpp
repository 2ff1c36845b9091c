// SPDX-License-Identifier: Apache-2.0
#include <zero/core/limits.hpp>

#include <zero/optim/sgd.hpp>
#include <zero/optim/step_state.hpp>

#include <iterator>

static_assert(std::size(zero::step_config<zero::PlainSgd>{}.groups) == zero::max_groups);
