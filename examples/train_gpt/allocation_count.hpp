// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace train_gpt {

/// Heap allocations that this process has made so far, on all threads, by whatever name: malloc and
/// its kin, operator new, libraries included. None where they cannot be counted: the C library is
/// not glibc, or a sanitizer keeps malloc for itself.
[[nodiscard]] std::optional<std::int64_t> allocations_so_far() noexcept;

}  // namespace train_gpt
