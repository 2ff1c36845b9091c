// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/host_memory.hpp"

#include <zero/comm/local.hpp>

#include <utility>

namespace zero::test {

/// A rank of a local world for the laws of communicators.
class host_rank : public host_memory {
 public:
  explicit host_rank(local_communicator comm)
      : comm_(std::move(comm)) {}

  local_communicator& comm() { return comm_; }

 private:
  local_communicator comm_;
};

}  // namespace zero::test
