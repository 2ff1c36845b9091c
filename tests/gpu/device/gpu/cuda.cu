// SPDX-License-Identifier: Apache-2.0
#include <zero/device/gpu/cuda.hpp>

#include <zero/device/gpu/device.hpp>
#include <zero/device/gpu/kernels.cuh>
#include <zero/policy/concepts.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace zero::test {

static_assert(policy_of<Cuda, device_category>);
static_assert(std::is_same_v<Cuda::device, cuda_device>);
static_assert(std::is_same_v<Cuda::kernels, gpu_kernels>);
static_assert(std::is_same_v<cuda_device::kernels, gpu_kernels>);
static_assert(std::is_same_v<Cuda::options, cuda_options>);

TEST_CASE("the defaults are the current device, the default stream and cudaMalloc") {
  cuda_options const defaults;
  CHECK(defaults.ordinal == -1);
  CHECK(defaults.compute_stream == nullptr);
  CHECK_FALSE(static_cast<bool>(defaults.allocator));
}

}  // namespace zero::test
