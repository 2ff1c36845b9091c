// SPDX-License-Identifier: Apache-2.0
#include <zero/device/host_kernels.hpp>

#include "tests/laws/kernels.hpp"
#include "tests/support/host_memory.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

using zero::bf16;
using zero::fp16;
using zero::host_kernels;

static_assert(std::is_empty_v<host_kernels>);
static_assert(host_kernels::partials_scratch(1 << 20) == 0);

TEST_CASE("the laws of kernels hold for the host") {
  zero::test::host_memory memory;
  zero::laws::kernel_laws<host_kernels>(memory);
}

TEST_CASE("kernels of nothing take null pointers") {
  host_kernels::zero({}, nullptr, 0);
  host_kernels::copy({}, nullptr, nullptr, 0);
  host_kernels::accumulate<bf16, float>({}, nullptr, nullptr, 0, true, 1, nullptr);
  host_kernels::sum<bf16, float>({}, nullptr, nullptr, 0, 1, 3, nullptr, 0, true, nullptr);
  host_kernels::squares<float>({}, nullptr, 0, nullptr);
  host_kernels::cast<fp16>({}, nullptr, nullptr, 0);
  host_kernels::widen<fp16>({}, nullptr, nullptr, 0);
  auto const state = zero::laws::decided_state<zero::AdamW>(true, 1);
  host_kernels::update<zero::AdamW, bf16, float>({}, {}, &state);
  double result = -1;
  host_kernels::reduce_partials({}, nullptr, 0, nullptr, &result);
  CHECK(result == 0);
}

TEST_CASE("contributions are added in rank order, not in any other") {
  // 2^24 + 1 - 2^24 is 0 in FP32 in this order; from the right it would be 1.
  std::vector<float> const parts = {0x1p24F, 1.0F, -0x1p24F};
  for (int rank = 0; rank < 3; ++rank) {
    std::vector<float> received = parts;
    received.erase(received.begin() + rank);
    float const own = parts[static_cast<std::size_t>(rank)];
    float sum = std::numeric_limits<float>::quiet_NaN();
    host_kernels::sum<float, float>({}, &own, received.data(), 1, rank, 3, &sum, 1, false, nullptr);
    CHECK(sum == 0.0F);
    sum = own;  // in place
    host_kernels::sum<float, float>({}, &sum, received.data(), 1, rank, 3, &sum, 1, false, nullptr);
    CHECK(sum == 0.0F);
  }
  // The ranks' total is formed first: 1 + (2^24 + -2^24), not (1 + 2^24) + -2^24.
  std::vector<float> const two = {0x1p24F, -0x1p24F};
  float sum = 1;
  host_kernels::sum<float, float>({}, &two[1], two.data(), 1, 1, 2, &sum, 1, true, nullptr);
  CHECK(sum == 1.0F);
}

TEST_CASE("a native accumulator is rounded once, after the sum in FP32") {
  // 256 + (1 + 1): the FP32 total 258 is a bf16 number; adding one by one would stay at 256.
  std::vector<bf16> const received = {zero::from_float<bf16>(1), zero::from_float<bf16>(1)};
  bf16 accumulator = zero::from_float<bf16>(256);
  host_kernels::sum<bf16, bf16>(
      {}, received.data(), &received[1], 1, 0, 2, &accumulator, 1, true, nullptr);
  CHECK(zero::to_float(accumulator) == 258.0F);
}

TEST_CASE("kernels keep denormals and round to nearest whatever the thread has set") {
#if ZERO_IS_X86_64()
  std::uint32_t saved = 0;  // NOLINT(misc-const-correctness): the next line writes it
  asm volatile("stmxcsr %0" : "=m"(saved));
  std::uint32_t const hostile = saved | 0x8040U | 0x6000U;  // flush, denormals are zero, chop
  asm volatile("ldmxcsr %0" : : "m"(hostile));
  std::vector<float> const gradient = {0x1p-149F, 1.0F};
  std::vector<float> accumulator = {0x1p-149F, 0x1.8p-24F};
  host_kernels::accumulate<float, float>(
      {}, gradient.data(), accumulator.data(), 2, true, 1, nullptr);
  std::uint32_t after = 0;  // NOLINT(misc-const-correctness): the next line writes it
  asm volatile("stmxcsr %0" : "=m"(after));
  asm volatile("ldmxcsr %0" : : "m"(saved));
  bool const restored = (after & 0xffc0U) == (hostile & 0xffc0U);
  CHECK(restored);
  CHECK(accumulator[0] == 0x1p-148F);
  CHECK(accumulator[1] == 0x1.000002p0F);
#else
  MESSAGE("skipped: not an x86-64 processor");
#endif
}

TEST_CASE("a step that is skipped touches neither parameters nor moments") {
  auto state = zero::laws::decided_state<zero::AdamW>(false, 1);
  CHECK_FALSE(state.apply);
  float const gradient = std::numeric_limits<float>::infinity();
  float moments[2] = {0.5F, 0.25F};
  float master = 3;
  bf16 parameter = zero::from_float<bf16>(-7);  // not even rounded again
  zero::update_segment const segment{.begin = 0, .end = 1, .group = 0};
  zero::update_arguments<bf16, float> arguments;
  arguments.gradient = &gradient;
  arguments.master = &master;
  arguments.moments[0] = &moments[0];
  arguments.moments[1] = &moments[1];
  arguments.parameter = &parameter;
  arguments.n = 1;
  arguments.segments = &segment;
  arguments.segment_count = 1;
  host_kernels::update<zero::AdamW>({}, arguments, &state);
  CHECK(master == 3.0F);
  CHECK(moments[0] == 0.5F);
  CHECK(moments[1] == 0.25F);
  CHECK(zero::to_float(parameter) == -7.0F);
}

TEST_CASE("groups differ in learning rate and decay alone") {
  auto const state = zero::laws::decided_state<zero::PlainSgd>(true, 2);
  std::vector<float> const gradient(65, 1.0F);
  std::vector<float> parameter(65, 0.0F);
  std::vector<zero::update_segment> segments = {{.begin = 0, .end = 64, .group = 0},
                                                {.begin = 64, .end = 65, .group = 1}};
  zero::index_segments(segments, 65);
  zero::update_arguments<float, float> arguments;
  arguments.gradient = gradient.data();
  arguments.parameter = parameter.data();
  arguments.n = 65;
  arguments.segments = segments.data();
  arguments.segment_count = 2;
  host_kernels::update<zero::PlainSgd>({}, arguments, &state);
  CHECK(parameter[63] < 0.0F);
  CHECK(parameter[64] == 2 * parameter[63]);  // lr_scale is 1 and 2
}

TEST_CASE("the numbers of a step are copied, not referred to") {
  zero::step_control target;
  {
    zero::step_control const control{.lr = 0.5, .clip_norm = 2};
    host_kernels::set_control({}, &target, control);
  }
  CHECK(target.lr == 0.5);
  CHECK(target.clip_norm == 2);
}
