// SPDX-License-Identifier: Apache-2.0
#include <zero/device/concepts.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <type_traits>

namespace {

/// The least a device can be.
struct minimal {
  struct stream_type {};

  struct kernels {};

  void* allocate(std::int64_t, char const*) { return nullptr; }

  void deallocate(void*, std::int64_t) noexcept {}

  template <class Body>
  void enqueue(zero::queue, Body body) {
    body(stream_type{});
  }

  void record(zero::queue, int) {}

  void wait(zero::queue, int) {}

  [[nodiscard]] stream_type stream(zero::queue) const { return {}; }

  void finish() noexcept {}

  void check() const {}

  void fail(std::exception_ptr const&) noexcept {}

  void on_failure(std::function<void(std::exception_ptr)> const&) {}

  [[nodiscard]] zero::allocation_counters allocations() const { return {}; }
};

// Each with exactly one fault.
struct without_kernels : minimal {
 private:
  using kernels = void;
};

struct deallocate_that_throws : minimal {
  void deallocate(void*, std::int64_t) {}
};

struct finish_that_throws : minimal {
  void finish() {}
};

struct fail_that_throws : minimal {
  void fail(std::exception_ptr const&) {}
};

struct stream_of_another_type : minimal {
  [[nodiscard]] int stream(zero::queue) const { return 0; }
};

struct typed_memory : minimal {
  char* allocate(std::int64_t, char const*) { return nullptr; }
};

}  // namespace

static_assert(zero::device<minimal>);
static_assert(!zero::device<without_kernels>);
static_assert(!zero::device<deallocate_that_throws>);
static_assert(!zero::device<finish_that_throws>);
static_assert(!zero::device<fail_that_throws>);
static_assert(!zero::device<stream_of_another_type>);
static_assert(!zero::device<typed_memory>);
static_assert(!zero::device<int>);
static_assert(std::is_trivially_copyable_v<zero::allocation_counters>);

TEST_CASE("allocation counters start at nothing and compare by value") {
  zero::allocation_counters const none;
  CHECK(none.calls == 0);
  CHECK(none.bytes == 0);
  CHECK(none.live_bytes == 0);
  CHECK(none == zero::allocation_counters{});
  CHECK_FALSE(none == zero::allocation_counters{.calls = 1});
}
