// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Replaces the global operator new of a test program by one that counts. To be included by one
/// translation unit of the program only.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

// Inlined, the pair of a replaced and a replacing function would look like a mismatch to g++ 12.
#define ZERO_TEST_NOINLINE __attribute__((noinline))

namespace zero::test {

inline std::atomic<std::int64_t> allocation_count{0};

/// Calls of operator new so far, of all threads.
[[nodiscard]] inline std::int64_t allocations() {
  return allocation_count.load();
}

namespace detail {

[[nodiscard]] inline void* counted_malloc(std::size_t bytes) noexcept {
  allocation_count.fetch_add(1);
  return std::malloc(bytes == 0 ? 1 : bytes);
}

[[nodiscard]] inline void* counted_malloc(std::size_t bytes, std::align_val_t alignment) noexcept {
  auto const a = static_cast<std::size_t>(alignment);
  allocation_count.fetch_add(1);
  return bytes > SIZE_MAX - a ? nullptr : std::aligned_alloc(a, (bytes + a - 1) / a * a);
}

[[nodiscard]] inline void* not_null(void* address) {
  if (address == nullptr) {
    throw std::bad_alloc();
  }
  return address;
}

}  // namespace detail

}  // namespace zero::test

ZERO_TEST_NOINLINE void* operator new(std::size_t bytes) {
  return zero::test::detail::not_null(zero::test::detail::counted_malloc(bytes));
}

ZERO_TEST_NOINLINE void* operator new(std::size_t bytes, std::nothrow_t const& /*tag*/) noexcept {
  return zero::test::detail::counted_malloc(bytes);
}

ZERO_TEST_NOINLINE void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return zero::test::detail::not_null(zero::test::detail::counted_malloc(bytes, alignment));
}

ZERO_TEST_NOINLINE void* operator new(std::size_t bytes,
                                      std::align_val_t alignment,
                                      std::nothrow_t const& /*tag*/) noexcept {
  return zero::test::detail::counted_malloc(bytes, alignment);
}

ZERO_TEST_NOINLINE void operator delete(void* address) noexcept {
  std::free(address);
}

ZERO_TEST_NOINLINE void operator delete(void* address, std::size_t /*bytes*/) noexcept {
  std::free(address);
}

ZERO_TEST_NOINLINE void operator delete(void* address, std::align_val_t /*alignment*/) noexcept {
  std::free(address);
}

ZERO_TEST_NOINLINE void operator delete(void* address,
                                        std::size_t /*bytes*/,
                                        std::align_val_t /*alignment*/) noexcept {
  std::free(address);
}

#undef ZERO_TEST_NOINLINE
