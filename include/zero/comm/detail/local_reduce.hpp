// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/detail/local_meeting.hpp>
#include <zero/core/arithmetic.hpp>
#include <zero/core/config.hpp>
#include <zero/core/dtype.hpp>
#include <zero/core/float_environment.hpp>
#include <zero/version.hpp>

#include <cstdint>
#include <type_traits>

namespace zero::inline ZERO_ABI::detail {

/// One rank's contribution: multiplied by `scale` in FP32 and rounded to the wire type, or as it
/// is.
template <element W>
ZERO_EXACT inline float contribution(void const* buffer,
                                     std::int64_t index,
                                     bool scaled,
                                     float scale) noexcept {
  float const value = to_float(static_cast<W const*>(buffer)[index]);
  return scaled ? to_float(from_float<W>(zero::mul(value, scale))) : value;
}

/// `to[i]` = the ranks' elements `first + i`, added in rank order, each partial sum rounded to the
/// wire type. `to` may be the caller's own contribution.
template <element W>
ZERO_EXACT inline void reduce_in_rank_order(local_meeting const& meeting,
                                            std::int64_t first,
                                            std::int64_t elements,
                                            double prescale,
                                            W* to) noexcept {
  exact_float_environment const environment;
  bool const scaled = prescale != 1;
  float const scale = narrow(prescale);
  for (std::int64_t i = 0; i < elements; ++i) {
    W sum = from_float<W>(contribution<W>(meeting.call(0).send, first + i, scaled, scale));
    for (int rank = 1; rank < meeting.size(); ++rank) {
      float const term = contribution<W>(meeting.call(rank).send, first + i, scaled, scale);
      sum = from_float<W>(zero::add(to_float(sum), term));
    }
    to[i] = sum;
  }
}

/// The same for a buffer whose type is known at run time; `first` counts elements from its start.
inline void reduce_range(local_meeting const& meeting,
                         void* buffer,
                         std::int64_t first,
                         std::int64_t elements,
                         dtype type,
                         double prescale) {
  visit_dtype(type, [&](auto tag) {
    using wire = typename decltype(tag)::type;
    reduce_in_rank_order(meeting, first, elements, prescale, static_cast<wire*>(buffer) + first);
  });
}

}  // namespace zero::inline ZERO_ABI::detail
