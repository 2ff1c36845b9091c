// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/gpu/train_gpt/training.hpp"
#include "examples/train_gpt/gpu/passes.hpp"
#include "examples/train_gpt/model.hpp"
#include "examples/train_gpt/tuning.hpp"

#include <zero/cuda.cuh>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace bench {

/// One rank of an engine; the loop of the example's trainer.
template <int Stage>
class engine_training final : public training {
 public:
  using model = train_gpt::Gpt<zero::bf16>;
  using engine = zero::ZeroEngine<model, zero::Stage<Stage>, zero::AdamW, zero::Cuda>;

  explicit engine_training(task const& task)
      : training(task),
        world_(1),
        engine_(model(task.chosen.shape),
                world_.communicator(0),
                train_gpt::engine_options<engine>(task.chosen),
                zero::cuda_options{.compute_stream = stream()}) {
    engine_.initialize([](auto const& parameter, std::int64_t first, std::span<float> values) {
      bool const matrix = parameter.shape.rank() > 1;
      bool const norm_weight = !matrix && parameter.name.ends_with("weight");
      std::uint64_t const key = zero::key_of(parameter.name, 1);
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = initial_value(matrix, norm_weight, key, static_cast<std::uint64_t>(first) + i);
      }
    });
  }

  void step() override {
    for (auto const micro : engine_.micro_steps(1)) {
      static_cast<void>(micro);
      fill_windows();
      train_gpt::gpu::forward_to_head<model>(engine_, network_, chosen_.shape.layers);
      {
        auto const lease = engine_.forward(&model::embed);
        network_.head(train_gpt::gpu::addresses(*lease),
                      windows_.targets(),
                      engine_.loss_scale(),
                      static_cast<double*>(loss_.get()),
                      1.0,
                      false);
      }
      train_gpt::gpu::backward<model>(engine_, network_, chosen_.shape.layers);
    }
    engine_.step({.lr = schedule_.learning_rate(step_++)});
  }

 private:
  zero::local_gpu_world world_;
  engine engine_;
};

}  // namespace bench
