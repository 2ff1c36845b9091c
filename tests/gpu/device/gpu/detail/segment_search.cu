// SPDX-License-Identifier: Apache-2.0
#include <zero/device/gpu/detail/segment_search.cuh>

#include "tests/gpu/device/gpu/array.hpp"
#include "tests/support/wild.hpp"

#include <zero/device/gpu/detail/launch.cuh>
#include <zero/plan/groups.hpp>

#include <doctest/doctest.h>

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

namespace zero::test {

namespace {

/// A warp a position.
template <class Index>
__global__ void search(update_segment const* segments,
                       Index count,
                       std::int64_t const* positions,
                       Index* found) {
  Index const result = detail::first_segment_behind(segments, count, positions[blockIdx.x]);
  if (threadIdx.x == 0) {
    found[blockIdx.x] = result;
  }
}

}  // namespace

TEST_CASE("a warp finds what a walk from the first segment finds") {
  wild_numbers numbers(91);
  for (std::int32_t const count : {0, 1, 2, 31, 32, 33, 63, 64, 65, 1000, 1024, 1025, 10'000}) {
    CAPTURE(count);
    std::vector<update_segment> segments;
    std::int64_t end = 0;
    for (std::int32_t i = 0; i < count; ++i) {
      std::int64_t const begin = end + numbers.below(3) * numbers.below(100);
      end = begin + 1 + numbers.below(100);
      segments.push_back({begin, end, 0, 0});
    }
    std::vector<std::int64_t> positions{0, end, end + 1};
    for (int i = 0; i < 2000; ++i) {
      positions.push_back(numbers.below(end + 2));
    }
    std::vector<std::int32_t> expected;
    for (auto const position : positions) {
      std::int32_t s = 0;
      while (s < count && segments[static_cast<std::size_t>(s)].end <= position) {
        ++s;
      }
      expected.push_back(s);
    }
    gpu_array<update_segment> const gpu_segments(segments);
    gpu_array<std::int64_t> const gpu_positions(positions);
    gpu_array<std::int32_t> const found(gpu_positions.size());
    detail::launch("search",
                   search<std::int32_t>,
                   gpu_positions.size(),
                   32,
                   nullptr,
                   gpu_segments.data(),
                   count,
                   gpu_positions.data(),
                   found.data());
    CHECK(found.values() == expected);
  }
}

}  // namespace zero::test
