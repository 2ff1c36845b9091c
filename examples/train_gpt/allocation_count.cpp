// SPDX-License-Identifier: Apache-2.0
#include "allocation_count.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>

// A program may replace malloc; glibc documents how ("Replacing malloc") and keeps its own under
// these names. Functions that are not replaced here, such as free, stay glibc's.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#  define TRAIN_GPT_SANITIZED 1
#elif defined(__has_feature)  // clang's way of saying so
#  define TRAIN_GPT_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#  define TRAIN_GPT_SANITIZED 0
#endif

#if defined(__GLIBC__) && !TRAIN_GPT_SANITIZED

#  include <atomic>

namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): malloc has no other place
constinit std::atomic<std::int64_t> count{0};

void add_one() noexcept {
  count.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the names are glibc's
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

// NOLINTEND(bugprone-reserved-identifier)

void* malloc(std::size_t bytes) {
  add_one();
  return __libc_malloc(bytes);
}

void* calloc(std::size_t elements, std::size_t bytes) {
  add_one();
  return __libc_calloc(elements, bytes);
}

void* realloc(void* memory, std::size_t bytes) {
  add_one();
  return __libc_realloc(memory, bytes);
}

void* memalign(std::size_t alignment, std::size_t bytes) {
  add_one();
  return __libc_memalign(alignment, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  add_one();
  return __libc_memalign(alignment, bytes);
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  add_one();
  void* const result = __libc_memalign(alignment, bytes);
  if (result == nullptr) {
    return ENOMEM;
  }
  *memory = result;
  return 0;
}

}  // extern "C"

std::optional<std::int64_t> train_gpt::allocations_so_far() noexcept {
  return count.load(std::memory_order_relaxed);
}

#else

std::optional<std::int64_t> train_gpt::allocations_so_far() noexcept {
  return std::nullopt;
}

#endif
