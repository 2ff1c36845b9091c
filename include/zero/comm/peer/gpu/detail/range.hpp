// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/detail/rendezvous_record.hpp>
#include <zero/core/error.hpp>
#include <zero/device/gpu/driver.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/version.hpp>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// One range of device memory a rank, all of the same size, that this process can write: processes
/// hand it to each other by CUDA IPC. A rank may free its memory before the others have let go of
/// it; the driver keeps it for them (decision 7).
class peer_range {
 public:
  /// What a rank tells the others about its range.
  struct offer {
    cudaIpcMemHandle_t handle{};
    std::uint64_t process = 0;  ///< `this_process()` of the rank
    std::uint64_t address = 0;  ///< of the range, in that process
    std::int64_t offset = 0;    ///< of the range in the allocation that the handle stands for
    std::int64_t bytes = 0;
    std::int32_t error = cudaSuccess;
  };

  /// This rank's offer; says in `error` what CUDA says against it.
  /// @throws cuda_error the driver is too old
  [[nodiscard]] static offer make_offer(void* address, std::int64_t bytes) {
    offer mine;
    mine.process = this_process();
    mine.address = reinterpret_cast<std::uintptr_t>(address);
    mine.bytes = bytes;
    CUdeviceptr allocation = 0;
    std::size_t size = 0;
    auto const range_of =
        gpu::driver_function<decltype(&cuMemGetAddressRange)>("cuMemGetAddressRange");
    if (range_of(&allocation, &size, reinterpret_cast<CUdeviceptr>(address)) != CUDA_SUCCESS) {
      mine.error = cudaErrorInvalidValue;
      return mine;
    }
    mine.offset = static_cast<std::int64_t>(reinterpret_cast<CUdeviceptr>(address) - allocation);
    if (mine.offset + bytes > static_cast<std::int64_t>(size)) {
      mine.error = cudaErrorInvalidValue;
      return mine;
    }
    mine.error = settle(cudaIpcGetMemHandle(&mine.handle, reinterpret_cast<void*>(allocation)));
    return mine;
  }

  /// Takes up what all ranks have offered, in rank order; `error()` says whether that worked.
  /// @pre no offer has an error
  peer_range(int rank, std::vector<offer> const& offers)
      : offers_(offers),
        rank_(rank) {
    bases_.reserve(offers_.size());
    for (std::size_t i = 0; i < offers_.size(); ++i) {
      if (i == static_cast<std::size_t>(rank)) {
        bases_.push_back(reinterpret_cast<std::byte*>(own().address));
        continue;
      }
      void* opened = nullptr;
      auto const code =
          settle(cudaIpcOpenMemHandle(&opened, offers_[i].handle, cudaIpcMemLazyEnablePeerAccess));
      error_ = error_ == cudaSuccess ? code : error_;
      bases_.push_back(opened == nullptr ? nullptr
                                         : static_cast<std::byte*>(opened) + offers_[i].offset);
    }
  }

  peer_range(peer_range&& other) noexcept = default;

  peer_range& operator=(peer_range&& other) noexcept {
    std::swap(offers_, other.offers_);
    std::swap(bases_, other.bases_);
    std::swap(rank_, other.rank_);
    std::swap(error_, other.error_);
    return *this;
  }

  ~peer_range() {
    for (std::size_t i = 0; i < bases_.size(); ++i) {
      if (i != static_cast<std::size_t>(rank_) && bases_[i] != nullptr) {
        gpu::ignore_at_exit(cudaIpcCloseMemHandle(bases_[i] - offers_[i].offset));
      }
    }
  }

  /// The first error of the constructor.
  [[nodiscard]] cudaError_t error() const noexcept { return error_; }

  /// Where this rank's range begins.
  [[nodiscard]] void* address() const noexcept { return bases_[static_cast<std::size_t>(rank_)]; }

  /// Whether bytes lie in this rank's range.
  [[nodiscard]] bool holds(void const* address, std::int64_t bytes) const noexcept {
    auto const first = reinterpret_cast<std::uintptr_t>(address);
    return first >= own().address && first + static_cast<std::uintptr_t>(bytes) <=
                                         own().address + static_cast<std::uintptr_t>(own().bytes);
  }

  /// Where rank r has what this rank has at `address`, which lies in its range.
  [[nodiscard]] std::byte* at(int r, void const* address) const noexcept {
    auto const offset = reinterpret_cast<std::uintptr_t>(address) - own().address;
    return bases_[static_cast<std::size_t>(r)] + offset;
  }

  /// A number that no other process has.
  [[nodiscard]] static std::uint64_t this_process() {
    static nonce const drawn = make_nonce();
    std::uint64_t number = 0;
    std::memcpy(&number, &drawn, sizeof number);
    return number;
  }

 private:
  [[nodiscard]] offer const& own() const noexcept {
    return offers_[static_cast<std::size_t>(rank_)];
  }

  /// Clears CUDA's last error.
  static cudaError_t settle(cudaError_t code) noexcept {
    if (code != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
    }
    return code;
  }

  std::vector<offer> offers_;
  std::vector<std::byte*> bases_;
  int rank_;
  cudaError_t error_ = cudaSuccess;
};

}  // namespace zero::inline ZERO_ABI::detail
