// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/version.hpp>

namespace zero::inline ZERO_ABI::detail {

/// The groups of a transport that moves each call by itself: they are only counted.
class counted_groups {
 public:
  void begin_group() noexcept { ++open_; }

  /// @pre `in_group()`
  void end_group() noexcept { --open_; }

  [[nodiscard]] bool in_group() const noexcept { return open_ > 0; }

 private:
  int open_ = 0;
};

}  // namespace zero::inline ZERO_ABI::detail
