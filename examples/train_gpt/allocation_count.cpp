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

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): malloc has no other place
constinit std::atomic<std::int64_t> count{0};
constinit thread_local int uncounted = 0;

// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

void add_one() noexcept {
  if (uncounted == 0) {
    count.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): the names are glibc's
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)

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

namespace train_gpt {

std::optional<std::int64_t> allocations_so_far() noexcept {
  return count.load(std::memory_order_relaxed);
}

uncounted_allocations::uncounted_allocations() noexcept {
  ++uncounted;
}

uncounted_allocations::~uncounted_allocations() {
  --uncounted;
}

}  // namespace train_gpt

#else

namespace train_gpt {

std::optional<std::int64_t> allocations_so_far() noexcept {
  return std::nullopt;
}

uncounted_allocations::uncounted_allocations() noexcept = default;
uncounted_allocations::~uncounted_allocations() = default;

}  // namespace train_gpt

#endif
