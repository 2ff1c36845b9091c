// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace train_gpt {

/// Heap allocations that this process has made so far, on all threads, by whatever name: malloc and
/// its kin, operator new, libraries included. None where they cannot be counted: the C library is
/// not glibc, or a sanitizer keeps malloc for itself.
[[nodiscard]] std::optional<std::int64_t> allocations_so_far() noexcept;

/// While one lives, this thread's allocations are not counted: for calls of a library that takes
/// and returns memory as it likes.
class uncounted_allocations {
 public:
  uncounted_allocations() noexcept;
  uncounted_allocations(uncounted_allocations const&) = delete;
  uncounted_allocations& operator=(uncounted_allocations const&) = delete;
  ~uncounted_allocations();
};

}  // namespace train_gpt
