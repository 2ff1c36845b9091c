// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/version.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace zero::inline ZERO_ABI::gpu {

/// Where device memory comes from when it is not `cudaMalloc`: two functions of the user and a
/// pointer that they get back. Copyable; the user keeps what it points to alive.
struct allocator {
  /// Returns `bytes` of memory of the current device at a multiple of 256 bytes, or null when there
  /// is none left. Called during construction only.
  void* (*allocate)(void* context, std::int64_t bytes) = nullptr;

  /// Takes back what `allocate` gave. Must not throw.
  void (*deallocate)(void* context, void* address, std::int64_t bytes) = nullptr;

  void* context = nullptr;  ///< first argument of both

  /// Whether the user gave functions; without them memory comes from `cudaMalloc`.
  [[nodiscard]] explicit operator bool() const noexcept {
    return allocate != nullptr && deallocate != nullptr;
  }
};

/// Owns one range of device memory: the bytes of one pool, taken in one allocation.
///
/// Move-only; a moved-from range is empty. Zero bytes own nothing and have the null address.
class memory {
 public:
  /// Alignment of every range, in bytes.
  static constexpr std::uintptr_t alignment = 256;

  /// Owns nothing.
  memory() = default;

  /// Takes `bytes` on the current device; the contents are unspecified.
  ///
  /// @param bytes   how many, 0 or more
  /// @param pool    what they are for, as the error shall name it
  /// @param source  the user's allocator, or none for `cudaMalloc`
  /// @throws out_of_memory with pool and size; logic_error when the user's allocator gave memory
  /// that is not aligned; cuda_error for anything else
  memory(std::int64_t bytes, char const* pool, allocator const& source = {})
      : source_(source),
        bytes_(bytes) {
    precondition(bytes >= 0, "zero::gpu::memory: a size must not be negative");
    if (bytes == 0) {
      return;
    }
    if (source_) {
      address_ = source_.allocate(source_.context, bytes);
    } else {
      auto const code = cudaMalloc(&address_, static_cast<std::size_t>(in_pages(bytes)));
      if (code == cudaErrorMemoryAllocation) {
        static_cast<void>(cudaGetLastError());
        address_ = nullptr;
      } else {
        check_cuda(code, "cudaMalloc");
      }
    }
    if (address_ == nullptr) {
      throw out_of_memory(bytes, pool);
    }
    if (reinterpret_cast<std::uintptr_t>(address_) % alignment != 0) {
      free();
      throw logic_error(
          "zero::gpu::allocator: the memory is not aligned; return addresses that are multiples "
          "of 256.");
    }
  }

  /// Takes over what `other` has, which is left empty.
  memory(memory&& other) noexcept
      : source_(other.source_),
        address_(std::exchange(other.address_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}

  /// Changes places with `other`.
  memory& operator=(memory&& other) noexcept {
    std::swap(source_, other.source_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  /// `cudaFree` waits for the device: pools die with their engine, and never inside a step.
  ~memory() { free(); }

  /// First byte, a multiple of `alignment`; null when empty.
  [[nodiscard]] void* get() const noexcept { return address_; }

  /// Bytes owned.
  [[nodiscard]] std::int64_t size() const noexcept { return bytes_; }

  /// Gives the range up. `from_native_handle` with the same size and source takes it back.
  [[nodiscard]] void* release() noexcept {
    bytes_ = 0;
    return std::exchange(address_, nullptr);
  }

  /// Takes ownership of a range that `release` gave up.
  [[nodiscard]] static memory from_native_handle(void* address,
                                                 std::int64_t bytes,
                                                 allocator const& source = {}) noexcept {
    memory result;
    result.source_ = source;
    result.address_ = address;
    result.bytes_ = bytes;
    return result;
  }

 private:
  /// What is taken for so many bytes: whole pages of 2 MiB, which the driver gives out anyway.
  /// Where a range ended inside one, copies to it from other processes (CUDA IPC) were a quarter
  /// slower.
  [[nodiscard]] static constexpr std::int64_t in_pages(std::int64_t bytes) noexcept {
    constexpr std::int64_t page = std::int64_t{2} << 20;
    return bytes < page ? bytes : (bytes + page - 1) / page * page;
  }

  void free() noexcept {
    if (address_ == nullptr) {
      return;
    }
    if (source_) {
      source_.deallocate(source_.context, address_, bytes_);
    } else {
      ignore_at_exit(cudaFree(address_));
    }
    address_ = nullptr;
  }

  allocator source_;
  void* address_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace zero::inline ZERO_ABI::gpu
