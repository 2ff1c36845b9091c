// SPDX-License-Identifier: Apache-2.0
#include <zero/device/gpu/graph.hpp>

#include "tests/gpu/device/gpu/array.hpp"
#include "tests/support/capture.hpp"

#include <zero/core/error.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/device/gpu/kernels.cuh>
#include <zero/device/gpu/stream.hpp>

#include <doctest/doctest.h>

#include <cuda_runtime_api.h>

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace zero::test {

static_assert(!std::is_copy_constructible_v<gpu::graph>);
static_assert(std::is_nothrow_move_constructible_v<gpu::graph>);

TEST_CASE("captured work runs at each launch, and not before") {
  gpu::stream const s(gpu::stream_priority::normal);
  gpu_array<float> const total(std::vector<float>{0, 0, 0});
  gpu_array<float> const one(std::vector<float>{1, 2, 3});
  gpu::graph first = capture(s.get(), [&] {
    gpu_kernels::accumulate<float, float>(s.get(), one.data(), total.data(), 3, true, 1, nullptr);
    gpu_kernels::accumulate<float, float>(s.get(), one.data(), total.data(), 3, true, 1, nullptr);
  });
  CHECK(first.nodes() == 2);
  gpu::graph const work(std::move(first));
  CHECK(first.get() == nullptr);
  work.upload(s.get());
  CHECK(total.values() == std::vector<float>{0, 0, 0});
  for (int i = 0; i < 3; ++i) {
    work.launch(s.get());
  }
  CHECK(total.values() == std::vector<float>{6, 12, 18});
}

TEST_CASE("an empty graph cannot be launched") {
  gpu::stream const s(gpu::stream_priority::normal);
  CHECK_THROWS_AS(gpu::graph().launch(s.get()), cuda_error);
}

}  // namespace zero::test
