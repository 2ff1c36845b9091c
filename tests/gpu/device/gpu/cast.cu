// SPDX-License-Identifier: Apache-2.0
#include <zero/device/gpu/cast.cuh>

#include "tests/gpu/device/gpu/array.hpp"
#include "tests/support/wild.hpp"

#include <zero/device/gpu/kernels.cuh>
#include <zero/device/host_kernels.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace zero::test {

namespace {

template <class P>
void compare(std::vector<float> const& wide, std::vector<P> const& narrow, std::int64_t shift) {
  auto const n = static_cast<std::int64_t>(wide.size());
  gpu_array<float> const gpu_wide(wide, shift);
  gpu_array<P> const gpu_narrow(narrow, shift);
  gpu_array<P> const gpu_rounded(std::vector<P>(wide.size(), poison<P>), shift);
  gpu_array<float> const gpu_widened(std::vector<float>(wide.size(), poison<float>), shift);
  gpu_kernels::cast<P>(nullptr, gpu_wide.data(), gpu_rounded.data(), n);
  gpu_kernels::widen<P>(nullptr, gpu_narrow.data(), gpu_widened.data(), n);
  std::vector<P> rounded(wide.size());
  std::vector<float> widened(wide.size());
  host_kernels::cast<P>({}, wide.data(), rounded.data(), n);
  host_kernels::widen<P>({}, narrow.data(), widened.data(), n);
  CHECK(differences(gpu_rounded.values(), rounded) == 0);
  CHECK(differences(gpu_widened.values(), widened) == 0);
}

}  // namespace

TEST_CASE_TEMPLATE("conversions on the GPU have the bits of the host", P, bf16, fp16, float) {
  for (auto const n : awkward_sizes) {
    CAPTURE(n);
    auto const seed = static_cast<std::uint64_t>(n);
    compare(any_bits<float>(n, 41 + seed), any_bits<P>(n, 42 + seed), 0);
  }
  compare(any_bits<float>(9001, 43), any_bits<P>(9001, 44), 1);
  compare(any_bits<float>(1'000'003, 45), any_bits<P>(1'000'003, 46), 0);
}

TEST_CASE_TEMPLATE("all 65 536 values of a 16-bit type come back unchanged", P, bf16, fp16) {
  std::vector<P> all;
  for (std::uint32_t bits = 0; bits < 65'536; ++bits) {
    all.push_back(P{static_cast<std::uint16_t>(bits)});
  }
  gpu_array<P> const before(all);
  gpu_array<float> const wide(65'536);
  gpu_array<P> const after(65'536);
  gpu_kernels::widen<P>(nullptr, before.data(), wide.data(), 65'536);
  gpu_kernels::cast<P>(nullptr, wide.data(), after.data(), 65'536);
  CHECK(differences(after.values(), all) == 0);
}

}  // namespace zero::test
