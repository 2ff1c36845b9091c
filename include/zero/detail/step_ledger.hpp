// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/plan/control.hpp>
#include <zero/version.hpp>

#include <cstdint>

namespace zero::inline ZERO_ABI::detail {

/// How many steps a rank has issued, how far it has seen them complete, and where in the ring of
/// results the latest one's record goes.
class step_ledger {
 public:
  /// Steps issued so far.
  [[nodiscard]] std::int64_t issued() const { return issued_; }

  /// One more step is issued; its number. Its record goes where that number says.
  std::int64_t issue() {
    ++issued_;
    slot_ = issued_ % result_ring;
    return issued_;
  }

  /// One more step is issued, by a graph whose record goes to `slot`.
  std::int64_t issue_to(std::int64_t slot) {
    ++issued_;
    slot_ = slot;
    return issued_;
  }

  /// Where the latest step's record goes.
  [[nodiscard]] std::int64_t slot() const { return slot_; }

  /// The latest step that a call which waits has seen complete.
  [[nodiscard]] std::int64_t seen() const { return seen_; }

  /// A call that waited has seen all up to `step` complete.
  void see(std::int64_t step) { seen_ = step; }

  /// `steps` have been made before, elsewhere; none of them has a record here.
  void restart(std::int64_t steps) {
    issued_ = steps;
    seen_ = steps;
    slot_ = steps % result_ring;
  }

 private:
  std::int64_t issued_ = 0;
  std::int64_t seen_ = 0;
  std::int64_t slot_ = 0;
};

}  // namespace zero::inline ZERO_ABI::detail
