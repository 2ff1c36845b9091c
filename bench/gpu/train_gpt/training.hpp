// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/gpu/train_gpt/contestant.hpp"
#include "examples/train_gpt/gpu/network.hpp"
#include "examples/train_gpt/gpu/windows.hpp"
#include "examples/train_gpt/progress.hpp"

#include <zero/core/dtype.hpp>
#include <zero/core/random.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/device/gpu/memory.hpp>
#include <zero/device/gpu/stream.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

namespace bench {

/// What the contestants share: stream, network, windows, and where the loss goes.
class training : public contestant {
 public:
  explicit training(task const& task)
      : chosen_(task.chosen),
        text_(task.text),
        schedule_(task.chosen),
        network_(task.chosen.shape,
                 task.chosen.batch,
                 stream_.get(),
                 {.deterministic = task.chosen.deterministic}),
        windows_(task.text, task.chosen.batch, task.chosen.shape.context, stream_.get()),
        loss_(sizeof(double), "loss") {}

  [[nodiscard]] cudaStream_t stream() const final { return stream_.get(); }

  [[nodiscard]] double loss() final {
    double loss = 0;
    zero::check_cuda(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
    zero::check_cuda(cudaMemcpy(&loss, loss_.get(), sizeof loss, cudaMemcpyDeviceToHost),
                     "cudaMemcpy");
    return loss;
  }

  [[nodiscard]] std::string matrix_products() const final { return network_.matrix_products(); }

  [[nodiscard]] std::string attention() const final { return network_.attention_name(); }

  [[nodiscard]] std::int64_t steps() const final { return step_; }

 protected:
  /// Brings the windows of the next step.
  void fill_windows() {
    std::int64_t const first = step_ * chosen_.batch;
    windows_.fill([&](std::int64_t i) {
      return text_.training_window(chosen_.seed, static_cast<std::uint64_t>(first + i));
    });
    network_.begin(windows_.tokens());
  }

  /// An initial value, cheaper to make than the example's: uniform, of deviation 0.02; 1 for the
  /// weights of norms, 0 for biases.
  static float initial_value(bool matrix, bool norm_weight, std::uint64_t key, std::uint64_t i) {
    if (matrix) {
      return 0.07f * (zero::uniform(key, i) - 0.5f);
    }
    return norm_weight ? 1.0f : 0.0f;
  }

  train_gpt::options const& chosen_;
  train_gpt::corpus const& text_;
  train_gpt::schedule schedule_;
  zero::gpu::stream stream_{zero::gpu::stream_priority::normal};
  train_gpt::gpu::network<zero::bf16> network_;
  train_gpt::gpu::windows windows_;
  zero::gpu::memory loss_;
  std::int64_t step_ = 0;
};

}  // namespace bench
