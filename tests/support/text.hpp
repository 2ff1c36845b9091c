// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace zero::test {

/// Whether a text holds another one.
[[nodiscard]] inline bool contains(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace zero::test
