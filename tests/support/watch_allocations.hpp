// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <malloc.h>
#include <new>

/// @file
/// Watches all memory of a test program: replaces operator new, and malloc where no sanitizer has
/// done so already (glibc documents how: "Replacing malloc"). To be included by one translation
/// unit of the program only.

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#  define ZERO_TEST_SANITIZED 1
#elif defined(__has_feature)
#  define ZERO_TEST_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#  define ZERO_TEST_SANITIZED 0
#endif

// Inlined, the pair of a replaced and a replacing function would look like a mismatch to g++ 12.
#define ZERO_TEST_NOINLINE __attribute__((noinline))

namespace zero::test {

/// Allocations of one alignment that one thread has made.
struct aligned_log {
  static constexpr std::size_t most = 64;
  std::array<std::int64_t, most> bytes{};
  std::size_t count = 0;
};

namespace detail {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): malloc has no other place
inline constinit std::atomic<std::int64_t> allocation_count{0};
inline constinit std::atomic<std::int64_t> live_count{0};
inline thread_local constinit aligned_log pools_of_thread{};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

inline constexpr std::size_t pool_alignment = 256;

inline void* allocated(void* address) noexcept {
  if (address != nullptr) {
    allocation_count.fetch_add(1, std::memory_order_relaxed);
    live_count.fetch_add(1, std::memory_order_relaxed);
  }
  return address;
}

inline void released(void const* address) noexcept {
  live_count.fetch_sub(address != nullptr ? 1 : 0, std::memory_order_relaxed);
}

}  // namespace detail

/// Allocations of all threads so far.
[[nodiscard]] inline std::int64_t allocations() {
  return detail::allocation_count.load();
}

/// Those that have not been freed.
[[nodiscard]] inline std::int64_t live_allocations() {
  return detail::live_count.load();
}

/// What this thread asked operator new for at the alignment of pools, 256 bytes.
[[nodiscard]] inline aligned_log& pool_allocations() {
  return detail::pools_of_thread;
}

}  // namespace zero::test

#if defined(__GLIBC__) && !ZERO_TEST_SANITIZED
#  define ZERO_TEST_COUNT(call) (call)
#  define ZERO_TEST_UNCOUNT(address) static_cast<void>(address)

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the names are glibc's
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* memory);

// NOLINTEND(bugprone-reserved-identifier)

ZERO_TEST_NOINLINE void* malloc(std::size_t bytes) noexcept {
  return zero::test::detail::allocated(__libc_malloc(bytes));
}

ZERO_TEST_NOINLINE void* calloc(std::size_t count, std::size_t bytes) noexcept {
  return zero::test::detail::allocated(__libc_calloc(count, bytes));
}

ZERO_TEST_NOINLINE void* realloc(void* memory, std::size_t bytes) noexcept {
  zero::test::detail::released(memory);
  return zero::test::detail::allocated(__libc_realloc(memory, bytes));
}

ZERO_TEST_NOINLINE void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  return zero::test::detail::allocated(__libc_memalign(alignment, bytes));
}

ZERO_TEST_NOINLINE void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return zero::test::detail::allocated(__libc_memalign(alignment, bytes));
}

ZERO_TEST_NOINLINE int posix_memalign(void** memory,
                                      std::size_t alignment,
                                      std::size_t bytes) noexcept {
  *memory = zero::test::detail::allocated(__libc_memalign(alignment, bytes));
  return *memory == nullptr ? 12 : 0;  // ENOMEM
}

ZERO_TEST_NOINLINE void free(void* memory) noexcept {
  zero::test::detail::released(memory);
  __libc_free(memory);
}

}  // extern "C"

#else
#  define ZERO_TEST_COUNT(call) zero::test::detail::allocated(call)
#  define ZERO_TEST_UNCOUNT(address) zero::test::detail::released(address)
#endif

namespace zero::test::detail {

inline void* or_throw(void* address) {
  if (address == nullptr) {
    throw std::bad_alloc();
  }
  return address;
}

}  // namespace zero::test::detail

ZERO_TEST_NOINLINE void* operator new(std::size_t bytes) {
  return zero::test::detail::or_throw(ZERO_TEST_COUNT(std::malloc(bytes == 0 ? 1 : bytes)));
}

ZERO_TEST_NOINLINE void* operator new(std::size_t bytes, std::align_val_t alignment) {
  auto const a = static_cast<std::size_t>(alignment);
  if (bytes > SIZE_MAX - a) {
    throw std::bad_alloc();
  }
  auto& log = zero::test::detail::pools_of_thread;
  if (a == zero::test::detail::pool_alignment && log.count < zero::test::aligned_log::most) {
    log.bytes[log.count++] = static_cast<std::int64_t>(bytes);
  }
  return zero::test::detail::or_throw(
      ZERO_TEST_COUNT(std::aligned_alloc(a, (bytes + a - 1) / a * a)));
}

// A sanitizer has forms of its own that do not end in those above.
ZERO_TEST_NOINLINE void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept {
  return ZERO_TEST_COUNT(std::malloc(bytes == 0 ? 1 : bytes));
}

ZERO_TEST_NOINLINE void* operator new(std::size_t bytes,
                                      std::align_val_t alignment,
                                      std::nothrow_t const&) noexcept {
  try {
    return ::operator new(bytes, alignment);
  } catch (std::bad_alloc const&) {
    return nullptr;
  }
}

ZERO_TEST_NOINLINE void operator delete(void* address) noexcept {
  ZERO_TEST_UNCOUNT(address);
  std::free(address);
}

ZERO_TEST_NOINLINE void operator delete(void* address, std::size_t /*bytes*/) noexcept {
  ZERO_TEST_UNCOUNT(address);
  std::free(address);
}

ZERO_TEST_NOINLINE void operator delete(void* address, std::align_val_t /*alignment*/) noexcept {
  ZERO_TEST_UNCOUNT(address);
  std::free(address);
}

ZERO_TEST_NOINLINE void operator delete(void* address,
                                        std::size_t /*bytes*/,
                                        std::align_val_t /*alignment*/) noexcept {
  ZERO_TEST_UNCOUNT(address);
  std::free(address);
}

#undef ZERO_TEST_NOINLINE
#undef ZERO_TEST_COUNT
#undef ZERO_TEST_UNCOUNT
