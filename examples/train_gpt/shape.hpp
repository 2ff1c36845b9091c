// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace train_gpt {

/// The sizes that define a GPT. Its tokens are bytes; a larger vocabulary only makes the model
/// larger, so that it can be measured at the sizes of models with other tokens.
struct gpt_shape {
  std::int64_t layers = 4;
  std::int64_t channels = 128;
  std::int64_t heads = 4;
  std::int64_t context = 64;  ///< tokens the model can look back on, and the length of a window
  std::int64_t vocabulary = 256;
};

}  // namespace train_gpt
