// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/detail/local_reduce.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

using zero::bf16;
using zero::detail::local_meeting;
using zero::detail::reduce_range;

namespace {

/// Runs `f()` while `buffers` are what the ranks have brought.
template <class T, class F>
void with_calls(std::vector<std::vector<T>>& buffers, F f) {
  local_meeting meeting(static_cast<int>(buffers.size()), std::chrono::seconds(10));
  std::vector<std::thread> threads;
  for (int rank = 1; rank < meeting.size(); ++rank) {
    threads.emplace_back([&, rank] {
      meeting.open(rank, {}, {.send = buffers[static_cast<std::size_t>(rank)].data()});
      meeting.close(rank);
    });
  }
  meeting.open(0, {}, {.send = buffers[0].data()});
  f(meeting);
  meeting.close(0);
  for (auto& thread : threads) {
    thread.join();
  }
}

}  // namespace

TEST_CASE("partial sums are rounded to the wire type in rank order") {
  // 256 + 1 is lost in bf16 each time; the other order would give 258.
  std::vector<std::vector<bf16>> buffers;
  for (float const value : {256.0F, 1.0F, 1.0F}) {
    buffers.push_back({zero::from_float<bf16>(0), zero::from_float<bf16>(value)});
  }
  with_calls(buffers, [&](local_meeting const& meeting) {
    reduce_range(meeting, buffers[0].data(), 1, 1, zero::dtype::bf16, 1);
  });
  CHECK(zero::to_float(buffers[0][1]) == 256.0F);
  CHECK(zero::to_float(buffers[0][0]) == 0.0F);
}

TEST_CASE("the scale is applied to each contribution, which is rounded before it is added") {
  // 257 / 256 rounds to 1 in bf16; the sum of the products would round to 2 + 1/128.
  std::vector<std::vector<bf16>> buffers(2);
  for (auto& buffer : buffers) {
    buffer = {zero::from_float<bf16>(128.0F)};
  }
  double const prescale = 257.0 / 256.0 / 128.0;
  with_calls(buffers, [&](local_meeting const& meeting) {
    reduce_range(meeting, buffers[0].data(), 0, 1, zero::dtype::bf16, prescale);
  });
  CHECK(zero::to_float(buffers[0][0]) == 2.0F);
}

TEST_CASE("a scale of one leaves the contributions alone, denormals too") {
  std::vector<std::vector<float>> buffers(2);
  for (auto& buffer : buffers) {
    buffer = {0x1p-149F};
  }
  with_calls(buffers, [&](local_meeting const& meeting) {
    reduce_range(meeting, buffers[0].data(), 0, 1, zero::dtype::fp32, 1);
  });
  CHECK(buffers[0][0] == 0x1p-148F);
}
