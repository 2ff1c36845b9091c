// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>

#include <cstdint>

namespace zero::test {

/// The tag of a gather of unit 'blocks.3', as messages then name it.
[[nodiscard]] inline collective_tag gather_tag(std::uint64_t sequence, std::int64_t step = 4) {
  return {.sequence = sequence,
          .step = step,
          .unit = 3,
          .operation_name = "gather",
          .unit_name = "blocks.3"};
}

}  // namespace zero::test
