// SPDX-License-Identifier: Apache-2.0
#include <zero/device/gpu/update.cuh>

#include "tests/gpu/device/gpu/array.hpp"
#include "tests/support/wild.hpp"

#include <zero/device/gpu/kernels.cuh>
#include <zero/device/host_kernels.hpp>
#include <zero/device/update_arguments.hpp>
#include <zero/optim/adamw.hpp>
#include <zero/optim/lion.hpp>
#include <zero/optim/sgd.hpp>
#include <zero/optim/step_state.hpp>
#include <zero/plan/groups.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace zero::test {

namespace {

/// A shard of n elements on the host: what an update reads and writes.
template <class P, class A>
struct shard {
  std::vector<A> gradient;
  std::vector<float> master;
  std::array<std::vector<float>, max_moments> moments;
  std::vector<P> parameter;
};

template <class P, class A>
[[nodiscard]] shard<P, A> make_shard(std::int64_t n, std::uint64_t seed) {
  wild_numbers numbers(seed);
  shard<P, A> s{numbers.vector<A>(n),
                numbers.vector<float>(n),
                {numbers.vector<float>(n), numbers.vector<float>(n)},
                numbers.vector<P>(n)};
  for (float& v : s.moments[1]) {
    v = std::fabs(v);  // a mean of squares
  }
  return s;
}

/// A state in the middle of training: decided by a real step, clipping active.
template <class O>
[[nodiscard]] step_state<O> decided_state(bool finite) {
  step_config<O> config;
  config.group_count = 3;
  config.groups[1] = {0.5, 0};
  config.groups[2] = {2, 1};
  step_state<O> state = initial_state(config);
  state.applied_steps = 17;
  rank_record const records[2] = {{3.25}, {finite ? 8.0 : NAN}};
  step_control control;
  control.lr = 0.01;
  control.mean = 0.5;
  control.clip_norm = 1;
  decide(state, records, 2, control, config);
  return state;
}

/// Segments of the given numbers of lines, the groups taking turns; the last one ends at n.
[[nodiscard]] std::vector<update_segment> segments_of(std::vector<std::int64_t> const& lines,
                                                      std::int64_t n) {
  std::vector<update_segment> segments;
  std::int64_t first = 0;
  for (auto const count : lines) {
    std::int64_t const end = first + count * update_segment_alignment;
    segments.push_back({first, end, static_cast<std::int32_t>(segments.size() % 3), 0});
    first = end;
  }
  segments.back().end = n;
  index_segments(segments, n);
  return segments;
}

template <class O, class P, class A>
void compare(std::int64_t n,
             std::vector<update_segment> const& segments,
             std::int64_t shift = 0,
             bool finite = true) {
  auto host = make_shard<P, A>(n, 51 + static_cast<std::uint64_t>(n));
  auto const before = host;
  auto const state = decided_state<O>(finite);
  REQUIRE(state.apply == finite);
  gpu_array<A> const gradient(host.gradient, shift);
  gpu_array<float> const master(host.master, shift);
  gpu_array<float> const first_moment(host.moments[0], shift);
  gpu_array<float> const second_moment(host.moments[1], shift);
  gpu_array<P> const parameter(host.parameter, shift);
  gpu_array<update_segment> const gpu_segments(segments);
  gpu_array<step_state<O>> const gpu_state(std::vector<step_state<O>>(1, state));
  auto const count = static_cast<std::int32_t>(segments.size());
  update_arguments<P, A> arguments;
  arguments.n = n;
  arguments.segment_count = count;

  arguments.gradient = gradient.data();
  arguments.master = master.data();
  arguments.moments[0] = first_moment.data();
  arguments.moments[1] = second_moment.data();
  arguments.parameter = parameter.data();
  arguments.segments = gpu_segments.data();
  gpu_kernels::update<O, P, A>(nullptr, arguments, gpu_state.data());

  arguments.gradient = host.gradient.data();
  arguments.master = host.master.data();
  arguments.moments[0] = host.moments[0].data();
  arguments.moments[1] = host.moments[1].data();
  arguments.parameter = host.parameter.data();
  arguments.segments = segments.data();
  host_kernels::update<O, P, A>({}, arguments, &state);

  CHECK(differences(master.values(), host.master) == 0);
  CHECK(differences(first_moment.values(), host.moments[0]) == 0);
  CHECK(differences(second_moment.values(), host.moments[1]) == 0);
  CHECK(differences(parameter.values(), host.parameter) == 0);
  CHECK(differences(gradient.values(), before.gradient) == 0);
  if (!finite) {
    CHECK(differences(parameter.values(), before.parameter) == 0);
    CHECK(differences(first_moment.values(), before.moments[0]) == 0);
  }
}

template <class O, class P, class A>
void compare_all() {
  for (auto const n : awkward_sizes) {
    CAPTURE(n);
    compare<O, P, A>(n, {{0, n, 0, 0}});
  }
  compare<O, P, A>(5001, {{0, 5001, 1, 0}}, 1);                              // not aligned
  compare<O, P, A>(5001, {{0, 5001, 1, 0}}, 0, false);                       // skipped
  compare<O, P, A>(5001, {});                                                // frozen
  compare<O, P, A>(9000, segments_of({15, 1, 46, 79}, 9000));                // four, with a tail
  compare<O, P, A>(9001, segments_of({1, 1, 1, 1, 1, 1, 1, 134}, 9001), 1);  // not aligned
}

}  // namespace

TEST_CASE_TEMPLATE(
    "the fused update on the GPU has the bits of the host", O, AdamW, Sgd, PlainSgd, Lion) {
  SUBCASE("bf16 parameters, FP32 gradients") {
    compare_all<O, bf16, float>();
  }
  SUBCASE("bf16 parameters, bf16 gradients") {
    compare_all<O, bf16, bf16>();
  }
  SUBCASE("fp16 parameters, FP32 gradients") {
    compare_all<O, fp16, float>();
  }
  SUBCASE("fp16 parameters, fp16 gradients") {
    compare_all<O, fp16, fp16>();
  }
  SUBCASE("FP32 parameters, which are their own masters") {
    compare_all<O, float, float>();
  }
}

TEST_CASE("a million elements, most of them odd") {
  compare<AdamW, bf16, float>(1'000'003, {{0, 1'000'003, 0, 0}});
  compare<AdamW, bf16, bf16>(1'000'003, {{0, 1'000'003, 0, 0}});
}

TEST_CASE("ten thousand segments, of similar sizes and of very different ones") {
  for (bool const similar : {true, false}) {
    CAPTURE(similar);
    wild_numbers numbers(52);
    std::vector<std::int64_t> lines;
    std::int64_t total = 0;
    for (int i = 0; i < 10'000; ++i) {
      lines.push_back(similar ? 1 + numbers.below(4) : i == 5'000 ? 100'000 : 1);
      total += lines.back() * update_segment_alignment;
    }
    compare<AdamW, bf16, float>(total - 5, segments_of(lines, total - 5));
  }
}

TEST_CASE("moments and weights that are denormal do not flush") {
  auto const state = decided_state<AdamW>(true);
  std::vector<float> tiny;
  for (int i = 0; i < 4096; ++i) {
    tiny.push_back(std::ldexp(1.0F + static_cast<float>(i) / 4096.0F, -140 + i % 20));
  }
  gpu_array<float> const gradient(tiny);
  gpu_array<float> const weight(tiny);
  gpu_array<float> const m(tiny);
  gpu_array<float> const v(tiny);
  std::vector<update_segment> const whole{{0, 4096, 0, 0}};
  gpu_array<update_segment> const segments(whole);
  gpu_array<step_state<AdamW>> const gpu_state(std::vector<step_state<AdamW>>(1, state));
  gpu_kernels::update<AdamW, float, float>(nullptr,
                                           {.gradient = gradient.data(),
                                            .master = nullptr,
                                            .moments = {m.data(), v.data()},
                                            .parameter = weight.data(),
                                            .n = 4096,
                                            .segments = segments.data(),
                                            .segment_count = 1},
                                           gpu_state.data());
  auto host_weight = tiny;
  auto host_m = tiny;
  auto host_v = tiny;
  host_kernels::update<AdamW, float, float>({},
                                            {.gradient = tiny.data(),
                                             .master = nullptr,
                                             .moments = {host_m.data(), host_v.data()},
                                             .parameter = host_weight.data(),
                                             .n = 4096,
                                             .segments = whole.data(),
                                             .segment_count = 1},
                                            &state);
  CHECK(differences(weight.values(), host_weight) == 0);
  CHECK(differences(m.values(), host_m) == 0);
  CHECK(differences(v.values(), host_v) == 0);
}

}  // namespace zero::test
