// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/gpu_platform.cuh"

#include <zero/core/dtype.hpp>
#include <zero/core/random.hpp>
#include <zero/engine.hpp>

#include <boost/hana/define_struct.hpp>
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// @file
/// Captured steps against steps that are issued anew: the same bits, step by step.

namespace zero::test::captured {

struct Layer {
  BOOST_HANA_DEFINE_STRUCT(Layer,
                           (zero::Tensor<zero::fp16, 40, 300>, weight),
                           (zero::Tensor<zero::fp16, 300>, bias));
};

struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model, (std::array<Layer, 3>, layers));
};

/// @tparam Communicator policy
template <class Communicator>
using engine_over =
    zero::ZeroEngine<Model, zero::Stage<2>, zero::Precision<zero::FP16>, zero::Cuda, Communicator>;

/// Gradients that depend on the parameters, on a counter in device memory, and on the loss scale;
/// in step `spoiled` they overflow.
__global__ inline void gradient_kernel(zero::fp16 const* w,
                                       zero::fp16* g,
                                       std::int64_t n,
                                       std::int64_t const* counter,
                                       float const* loss_scale,
                                       std::int64_t spoiled) {
  auto const i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) {
    float const x =
        zero::uniform(static_cast<std::uint64_t>(*counter), static_cast<std::uint64_t>(i)) - 0.5F;
    float const value = (x + 0.1F * zero::to_float(w[i])) * *loss_scale * 1e-3F;
    g[i] = *counter == spoiled && i == 7 ? zero::fp16{0x7c00} : zero::from_float<zero::fp16>(value);
  }
}

__global__ inline void count_kernel(std::int64_t* counter) {
  ++*counter;
}

struct run_of_steps {
  std::vector<std::uint64_t> hashes;
  std::vector<zero::StepResult> results;
};

enum class mode { issued, whole_step, step_alone, two_captures };

/// Trains on so many ranks, all or some steps captured.
/// @param spoiled  number of the micro-step whose gradients overflow
template <class Platform>
run_of_steps run(mode how, int ranks, int steps, std::int64_t spoiled) {
  run_of_steps out;
  using Engine = engine_over<typename Platform::communicator>;
  Platform::run(ranks, [&](auto communicator) {
    bool const first = communicator.rank() == 0;
    typename Engine::options options;
    options.clip_norm = 0.5;
    options.schedule.residency_bytes = 0;
    options.loss_scale.initial = 1024;
    options.loss_scale.window = 3;
    auto engine = Platform::template make<Engine>(Model{}, std::move(communicator), options);
    engine.initialize(
        [](zero::parameter_view const& view, std::int64_t at, std::span<float> values) {
          for (auto& v : values) {
            v = zero::uniform(view.key, static_cast<std::uint64_t>(at++)) - 0.5F;
          }
        });
    auto const stream = Platform::stream();
    zero::gpu::memory counter_memory(8, "test");
    auto* const counter = static_cast<std::int64_t*>(counter_memory.get());
    Platform::write(counter, std::vector<std::int64_t>{0});
    auto passes = [&](std::int64_t count) {
      for ([[maybe_unused]] auto micro : engine.micro_steps(count)) {
        count_kernel<<<1, 1, 0, stream>>>(counter);
        for (int l = 0; l < 3; ++l) {
          auto const lease = engine.forward(&Model::layers, l);
        }
        for (int l = 3; l-- > 0;) {
          auto lease = engine.backward(&Model::layers, l);
          auto& g = lease.grads(zero::overwrite);
          auto launch = [&](auto const& w, auto& target) {
            gradient_kernel<<<static_cast<unsigned>((w.size() + 255) / 256), 256, 0, stream>>>(
                w.data(), target.data(), w.size(), counter, engine.loss_scale(), spoiled);
          };
          launch(lease->weight, g.weight);
          launch(lease->bias, g.bias);
        }
      }
    };
    auto const lr = [](int step) { return 0.01 / (1 + step); };
    auto const note = [&] {
      auto const result = engine.result();
      auto const hash = engine.parameters_hash();
      if (first) {
        out.results.push_back(result);
        out.hashes.push_back(hash);
      }
    };
    if (how == mode::issued) {
      for (int s = 0; s < steps; ++s) {
        passes(2);
        engine.step({.lr = lr(s)});
        note();
      }
      return;
    }
    passes(2);  // one step before the capture
    engine.step({.lr = lr(0)});
    note();
    auto const capture = [&] {
      return engine.capture([&] {
        if (how == mode::whole_step) {
          passes(2);
        }
        engine.step();
      });
    };
    auto const captured = capture();
    std::optional<decltype(capture())> later;
    for (int s = 1; s < steps; ++s) {
      if (s == 2 && how == mode::two_captures) {
        later.emplace(capture());
      }
      if (how != mode::whole_step) {
        passes(2);
      }
      engine.replay(s % 2 == 0 && later.has_value() ? *later : captured, {.lr = lr(s)});
      note();
    }
  });
  return out;
}

inline void check_equal(run_of_steps const& a, run_of_steps const& b) {
  REQUIRE(a.hashes.size() == b.hashes.size());
  for (std::size_t i = 0; i < a.hashes.size(); ++i) {
    CAPTURE(i);
    CHECK(a.hashes[i] == b.hashes[i]);
    CHECK(a.results[i].applied == b.results[i].applied);
    CHECK(a.results[i].norm == b.results[i].norm);
    CHECK(a.results[i].loss_scale == b.results[i].loss_scale);
    CHECK(a.results[i].step == b.results[i].step);
  }
}

}  // namespace zero::test::captured
