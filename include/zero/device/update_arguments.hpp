// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/optim/concepts.hpp>
#include <zero/plan/groups.hpp>
#include <zero/version.hpp>

#include <cstdint>

namespace zero::inline ZERO_ABI {

/// What the update of a shard reads and writes; pointers are the device's. Trivially copyable.
///
/// The segments cover the n elements and carry the table of `index_segments`.
/// @tparam P the type of the parameters
/// @tparam A the type of the accumulated gradients
template <element P, element A>
struct update_arguments {
  A const* gradient = nullptr;       ///< accumulated, not yet scaled
  float* master = nullptr;           ///< the FP32 parameters; unused where P is float
  float* moments[max_moments] = {};  ///< as many as the optimizer has, n elements each
  P* parameter = nullptr;  ///< the master rounded to P; where P is float, the master itself
  std::int64_t n = 0;      ///< elements of the shard
  update_segment const* segments = nullptr;  ///< in order
  std::int32_t segment_count = 0;            ///< how many
};

}  // namespace zero::inline ZERO_ABI
