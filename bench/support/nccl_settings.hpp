// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/nccl_memory.hpp>
#include <zero/comm/nccl_options.hpp>
#include <zero/device/gpu/memory.hpp>

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>

namespace bench {

/// The value that an option's argument stands for.
template <class T>
[[nodiscard]] T named(std::string const& option,
                      std::string const& name,
                      std::initializer_list<std::pair<char const*, T>> choices) {
  for (auto const& [choice, value] : choices) {
    if (name == choice) {
      return value;
    }
  }
  throw std::invalid_argument(option + " does not know " + name);
}

/// What memory has to come from so that NCCL can register it.
[[nodiscard]] inline zero::gpu::allocator allocator_for(zero::nccl_registration registration) {
  return registration == zero::nccl_registration::none ? zero::gpu::allocator{}
                                                       : zero::nccl_allocator();
}

}  // namespace bench
