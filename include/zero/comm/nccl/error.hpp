// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>
#include <zero/version.hpp>

#include <nccl.h>

#include <string>

namespace zero::inline ZERO_ABI {

static_assert(NCCL_VERSION_CODE >= NCCL_VERSION(2, 18, 0),
              "zero::Nccl: these headers of NCCL are too old; install NCCL 2.18 or newer.");

/// What NCCL says about a code, and about its last error of `comm` where there is one.
///
/// @param code what a call of NCCL returned
/// @param comm the communicator of the call; null when there is none (yet)
[[nodiscard]] inline std::string nccl_error_text(ncclResult_t code, ncclComm_t comm = nullptr) {
  std::string text = ncclGetErrorString(code);
  char const* const last = ncclGetLastError(comm);
  if (last != nullptr && *last != '\0') {
    text += std::string("; ") + last;
  }
  return text;
}

/// Throws what a failed call of NCCL deserves, and returns when it succeeded or goes on
/// (`ncclInProgress`, on communicators that do not block).
///
/// @param code  what the call returned
/// @param call  the call's name, a string literal
/// @param comm  the communicator of the call; null when there is none (yet)
/// @param where the caller's line
/// @throws nccl_error carrying code, call and line
inline void check_nccl(ncclResult_t code,
                       char const* call,
                       ncclComm_t comm = nullptr,
                       source_location where = source_location::current()) {
  if (code != ncclSuccess && code != ncclInProgress) [[unlikely]] {
    throw nccl_error(static_cast<int>(code), call, nccl_error_text(code, comm), where);
  }
}

}  // namespace zero::inline ZERO_ABI
