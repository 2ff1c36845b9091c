// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/nccl/error.hpp>
#include <zero/comm/nccl/options.hpp>
#include <zero/core/error.hpp>
#include <zero/version.hpp>

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// The ranges of device memory that a communicator knows, and how to make it forget them.
class nccl_registry {
 public:
  explicit nccl_registry(nccl_registration kind)
      : kind_(kind) {
    [[maybe_unused]] auto const features = nccl_features::of_library();
    // NCCL fills the list of the peers' addresses that a collective reads when it first meets the
    // range; before 2.29.2 not if a send or receive has met it earlier. Engines gather and exchange
    // in the same pools.
    precondition(
        kind != nccl_registration::buffer || features.registration,
        "zero::Nccl: nccl_registration::buffer needs NCCL 2.29.2 or newer: older ones hang when "
        "memory is gathered after it was exchanged; use nccl_registration::none");
    precondition(kind != nccl_registration::symmetric || features.windows,
                 "zero::Nccl: nccl_registration::symmetric needs NCCL 2.27.3 or newer; use "
                 "nccl_registration::none");
  }

  [[nodiscard]] nccl_registration kind() const noexcept { return kind_; }

  /// Makes a range known; collective when the kind is symmetric.
  void add([[maybe_unused]] ncclComm_t comm, void* address, std::int64_t bytes) {
    [[maybe_unused]] auto const size = static_cast<std::size_t>(bytes);
    range added{.address = address};
    if (kind_ == nccl_registration::buffer) {
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 19, 1)
      check_nccl(ncclCommRegister(comm, address, size, &added.handle), "ncclCommRegister", comm);
#endif
    } else if (kind_ == nccl_registration::symmetric) {
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 3)
      ncclWindow_t window = nullptr;
      check_nccl(ncclCommWindowRegister(comm, address, size, &window, NCCL_WIN_COLL_SYMMETRIC),
                 "ncclCommWindowRegister",
                 comm);
      added.handle = window;
#endif
    }
    // NCCL gives no handle where it has nothing to gain from knowing the range.
    if (added.handle != nullptr) {
      ranges_.push_back(added);
    }
  }

  /// Forgets the range that begins at an address; nothing when it is unknown.
  void remove(ncclComm_t comm, void* address) noexcept {
    std::erase_if(ranges_, [&](range const& known) {
      if (known.address == address) {
        forget(comm, known);
      }
      return known.address == address;
    });
  }

  void clear(ncclComm_t comm) noexcept {
    for (range const& known : ranges_) {
      forget(comm, known);
    }
    ranges_.clear();
  }

 private:
  struct range {
    void* address = nullptr;
    void* handle = nullptr;
  };

  void forget([[maybe_unused]] ncclComm_t comm, [[maybe_unused]] range const& known) noexcept {
    if (comm == nullptr) {
      return;  // it took its registrations with it
    }
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 19, 1)
    if (kind_ == nccl_registration::buffer) {
      static_cast<void>(ncclCommDeregister(comm, known.handle));
    }
#endif
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 3)
    if (kind_ == nccl_registration::symmetric) {
      static_cast<void>(ncclCommWindowDeregister(comm, static_cast<ncclWindow_t>(known.handle)));
    }
#endif
  }

  nccl_registration kind_;
  std::vector<range> ranges_;
};

}  // namespace zero::inline ZERO_ABI::detail
