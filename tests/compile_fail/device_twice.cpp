// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::ZeroEngine: a device was given more than once
#include <zero/device/host.hpp>
#include <zero/policy/policy_set.hpp>
#include <zero/version.hpp>

struct Model;

// Stand-ins, so that the test needs neither NCCL nor CUDA.
namespace zero::inline ZERO_ABI {

struct Nccl {
  using policy_category = communicator_category;
};

struct Cuda {
  using policy_category = device_category;
};

}  // namespace zero::inline ZERO_ABI

#ifdef ZERO_CONTROL
using Engine = zero::ZeroEngine<Model, zero::Nccl, zero::Cuda>;
#else
using Engine = zero::ZeroEngine<Model, zero::Nccl, zero::Host, zero::Cuda>;
#endif
