// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace train_gpt::gpu {

/// A library with its version, as NVIDIA's libraries count it: 130002 is 13.0.2.
[[nodiscard]] inline std::string versioned(std::string const& library, std::size_t version) {
  return library + " " + std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
}

}  // namespace train_gpt::gpu
