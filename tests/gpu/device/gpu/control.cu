// SPDX-License-Identifier: Apache-2.0
#include <zero/device/gpu/control.cuh>

#include "tests/gpu/device/gpu/array.hpp"
#include "tests/support/wild.hpp"

#include <zero/device/gpu/kernels.cuh>
#include <zero/device/host_kernels.hpp>
#include <zero/optim/adamw.hpp>
#include <zero/optim/lion.hpp>
#include <zero/optim/sgd.hpp>
#include <zero/optim/step_control.hpp>
#include <zero/optim/step_state.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace zero::test {

namespace {

void check_same(step_record const& gpu, step_record const& host) {
  CHECK(gpu.step == host.step);
  CHECK(gpu.applied == host.applied);
  CHECK(gpu.reason == host.reason);
  CHECK(same(gpu.norm, host.norm));
  CHECK(same(gpu.clip_factor, host.clip_factor));
  CHECK(same(gpu.loss_scale, host.loss_scale));
  CHECK(gpu.applied_steps == host.applied_steps);
  CHECK(gpu.skipped_in_row == host.skipped_in_row);
  CHECK(gpu.at_floor == host.at_floor);
}

template <class O>
void check_same(step_state<O> const& gpu, step_state<O> const& host, int groups) {
  CHECK(gpu.applied_steps == host.applied_steps);
  CHECK(same(gpu.scaling.scale, host.scaling.scale));
  CHECK(gpu.scaling.good_steps == host.scaling.good_steps);
  CHECK(gpu.scaling.hysteresis == host.scaling.hysteresis);
  CHECK(same(gpu.loss_scale, host.loss_scale));
  CHECK(same(gpu.coefficient, host.coefficient));
  CHECK(gpu.apply == host.apply);
  for (int g = 0; g < groups; ++g) {
    CHECK(std::memcmp(&gpu.groups[g], &host.groups[g], sizeof host.groups[g]) == 0);
  }
  check_same(gpu.last, host.last);
}

/// Runs `steps` decisions on both sides, one after the other from the same state.
template <class O>
void compare(int ranks, step_config<O> const& config, int steps) {
  constexpr int ring_size = 4;
  wild_numbers numbers(61);
  step_state<O> host = initial_state(config);
  std::vector<step_record> ring(ring_size);
  gpu_array<step_state<O>> const gpu_state(std::vector<step_state<O>>(1, host));
  gpu_array<step_config<O>> const gpu_config(std::vector<step_config<O>>(1, config));
  gpu_array<step_control> const gpu_control(1);
  gpu_array<step_record> const gpu_ring(ring_size);
  gpu_array<double> const token_scale(std::vector<double>(1, 0.125));
  double const host_token_scale = 0.125;
  for (int step = 0; step < steps; ++step) {
    CAPTURE(step);
    std::vector<rank_record> records;
    for (int rank = 0; rank < ranks; ++rank) {
      double const x = numbers.next();
      records.push_back({x * x});
    }
    if (step % 5 == 3) {
      records.back().squares = step % 2 == 0 ? INFINITY : NAN;
    }
    gpu_array<rank_record> const gpu_records(records);
    step_control control;
    control.lr = 0.1 / (step + 1);
    control.mean = 1.0 / ranks;
    control.gradient_scale = 0.75;
    control.clip_norm = step % 3 == 0 ? 0 : 0.5;
    control.device_gradient_scale = step % 2 == 0 ? nullptr : token_scale.data();
    gpu_kernels::set_control(nullptr, gpu_control.data(), control);
    gpu_kernels::decide<O>(nullptr,
                           gpu_state.data(),
                           gpu_records.data(),
                           ranks,
                           gpu_control.data(),
                           gpu_config.data(),
                           gpu_ring.data(),
                           step % ring_size);
    control.device_gradient_scale = step % 2 == 0 ? nullptr : &host_token_scale;
    host_kernels::decide<O>(
        {}, &host, records.data(), ranks, &control, &config, ring.data(), step % ring_size);
    check_same(gpu_state.values()[0], host, config.group_count);
  }
  auto const gpu_records = gpu_ring.values();
  for (int i = 0; i < ring_size && i < steps; ++i) {
    check_same(gpu_records[static_cast<std::size_t>(i)], ring[static_cast<std::size_t>(i)]);
  }
}

}  // namespace

TEST_CASE_TEMPLATE(
    "a decision on the GPU has the bits of the host", O, AdamW, Sgd, PlainSgd, Lion) {
  step_config<O> config;
  config.group_count = max_groups;
  for (int g = 0; g < max_groups; ++g) {
    config.groups[g] = {1.0 / (g + 1), g % 2 == 0 ? 1.0 : 0.0};
  }
  SUBCASE("without loss scaling") {
    for (int const ranks : {1, 2, 7, 511, 512, 513, 1000}) {
      CAPTURE(ranks);
      compare<O>(ranks, config, 12);
    }
  }
  SUBCASE("with loss scaling, down to the floor and up again") {
    config.scaled = true;
    config.scaling.initial = 4;
    config.scaling.window = 3;
    config.scaling.hysteresis = 1;
    compare<O>(3, config, 60);
  }
}

TEST_CASE("the host may change its numbers as soon as they are set") {
  gpu_array<step_control> const target(1);
  step_control control;
  control.lr = 0.5;
  gpu_kernels::set_control(nullptr, target.data(), control);
  control.lr = 99;
  CHECK(target.values()[0].lr == 0.5);
}

}  // namespace zero::test
