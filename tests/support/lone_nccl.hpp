// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/nccl/error.hpp>

#include <nccl.h>

namespace zero::test {

/// A communicator of NCCL of one rank on the current device, blocking or not.
[[nodiscard]] inline ncclComm_t lone_nccl(bool blocking = true) {
  ncclUniqueId id{};
  check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = blocking ? 1 : 0;
  ncclComm_t comm = nullptr;
  ncclResult_t state = ncclCommInitRankConfig(&comm, 1, id, 0, &config);
  check_nccl(state, "ncclCommInitRankConfig");
  while (state == ncclInProgress) {
    check_nccl(ncclCommGetAsyncError(comm, &state), "ncclCommGetAsyncError", comm);
  }
  check_nccl(state, "ncclCommInitRankConfig", comm);
  return comm;
}

}  // namespace zero::test
