// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/nccl/memory.hpp>
#include <zero/comm/nccl/options.hpp>
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

/// What `--registration` stands for.
[[nodiscard]] inline zero::nccl_registration registration_named(std::string const& name) {
  return named<zero::nccl_registration>("--registration",
                                        name,
                                        {{"none", zero::nccl_registration::none},
                                         {"buffer", zero::nccl_registration::buffer},
                                         {"symmetric", zero::nccl_registration::symmetric},
                                         {"peers", zero::nccl_registration::peers}});
}

/// What memory has to come from so that it can be registered.
[[nodiscard]] inline zero::gpu::allocator allocator_for(zero::nccl_registration registration) {
  bool const by_nccl = registration == zero::nccl_registration::buffer ||
                       registration == zero::nccl_registration::symmetric;
  return by_nccl ? zero::nccl_allocator() : zero::gpu::allocator{};
}

}  // namespace bench
