// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/core/shape.hpp>
#include <zero/core/tensor.hpp>
#include <zero/version.hpp>

#include <cstdint>
#include <string>

namespace zero::inline ZERO_ABI {

/// One parameter as user code sees it when the engine hands out whole parameters.
struct parameter_view {
  std::string name;           ///< path in the container, e.g. "blocks.3.attn.qkv"
  zero::shape shape{0};       ///< extents, slowest first
  std::int64_t elements = 0;  ///< their product
  dtype type = dtype::fp32;   ///< of the parameter; values are handed over in FP32
  parameter_traits traits;    ///< as the container says
  std::uint64_t key = 0;      ///< of the name; keys the generator of initial values and hashes
};

}  // namespace zero::inline ZERO_ABI
