// SPDX-License-Identifier: Apache-2.0
#include <zero/device/gpu/memory.hpp>

#include <zero/core/error.hpp>
#include <zero/device/gpu/error.hpp>

#include <doctest/doctest.h>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

namespace zero::test {

namespace {

/// A user's allocator that counts, and can be told to give addresses that are not aligned, or none.
struct counting_allocator {
  int allocations = 0;
  int deallocations = 0;
  std::int64_t live = 0;
  std::int64_t skew = 0;
  bool empty = false;

  [[nodiscard]] gpu::allocator functions() {
    return {.allocate = [](void* context, std::int64_t bytes) -> void* {
              auto& self = *static_cast<counting_allocator*>(context);
              if (self.empty) {
                return nullptr;
              }
              void* address = nullptr;
              check_cuda(cudaMalloc(&address, static_cast<std::size_t>(bytes + 256)), "cudaMalloc");
              ++self.allocations;
              self.live += bytes;
              return static_cast<std::byte*>(address) + self.skew;
            },
            .deallocate =
                [](void* context, void* address, std::int64_t bytes) {
                  auto& self = *static_cast<counting_allocator*>(context);
                  ++self.deallocations;
                  self.live -= bytes;
                  gpu::ignore_at_exit(cudaFree(static_cast<std::byte*>(address) - self.skew));
                },
            .context = this};
  }
};

}  // namespace

static_assert(!std::is_copy_constructible_v<gpu::memory>);
static_assert(std::is_nothrow_move_constructible_v<gpu::memory>);

TEST_CASE("memory is aligned, writable and owned once") {
  gpu::memory first(1000, "test");
  CHECK(first.size() == 1000);
  CHECK(reinterpret_cast<std::uintptr_t>(first.get()) % gpu::memory::alignment == 0);
  CHECK(cudaMemset(first.get(), 1, 1000) == cudaSuccess);
  void* const address = first.get();
  gpu::memory second(std::move(first));
  CHECK(first.get() == nullptr);
  CHECK(first.size() == 0);
  CHECK(second.get() == address);
  CHECK(second.release() == address);
  gpu::memory const third = gpu::memory::from_native_handle(address, 1000);
  CHECK(third.size() == 1000);
}

TEST_CASE("zero bytes own nothing; a negative size is an error") {
  CHECK(gpu::memory(0, "test").get() == nullptr);
  CHECK_THROWS_AS(gpu::memory(-1, "test"), logic_error);
}

TEST_CASE("too much names the pool and the bytes, and leaves no error behind") {
  std::int64_t const much = std::int64_t{1} << 50;
  bool thrown = false;
  try {
    gpu::memory const all(much, "optimizer");
  } catch (out_of_memory const& e) {
    thrown = true;
    CHECK(e.bytes() == much);
    CHECK(std::string(e.pool()) == "optimizer");
  }
  CHECK(thrown);
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("the user's allocator serves, and gets back what it gave") {
  counting_allocator user;
  {
    gpu::memory const pool(512, "test", user.functions());
    CHECK(user.allocations == 1);
    CHECK(user.live == 512);
  }
  CHECK(user.deallocations == 1);
  CHECK(user.live == 0);
}

TEST_CASE("a user's allocator that gives nothing, or not aligned, is told so") {
  counting_allocator user;
  user.empty = true;
  CHECK_THROWS_AS(gpu::memory(512, "test", user.functions()), out_of_memory);
  user.empty = false;
  user.skew = 16;
  CHECK_THROWS_AS(gpu::memory(512, "test", user.functions()), logic_error);
  CHECK(user.live == 0);
}

}  // namespace zero::test
