// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "examples/train_gpt/corpus.hpp"
#include "examples/train_gpt/options.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>

namespace bench {

/// One way to train the GPT of examples/train_gpt on one GPU. All use the example's network, and
/// see the same windows with the same learning rates.
class contestant {
 public:
  virtual ~contestant() = default;

  /// Enqueues a step on `stream()`.
  virtual void step() = 0;

  [[nodiscard]] virtual cudaStream_t stream() const = 0;

  /// The loss of the latest step. Waits.
  [[nodiscard]] virtual double loss() = 0;

  /// What computes matrix products, and what attention, for people.
  [[nodiscard]] virtual std::string matrix_products() const = 0;
  [[nodiscard]] virtual std::string attention() const = 0;

  /// Steps so far.
  [[nodiscard]] virtual std::int64_t steps() const = 0;
};

/// What each needs to begin.
struct task {
  train_gpt::options const& chosen;
  train_gpt::corpus const& text;
};

/// A loop without the engine: bf16 weights, FP32 accumulators, masters and moments in plain
/// buffers, clipping, AdamW; the example's network and the library's kernels.
[[nodiscard]] std::unique_ptr<contestant> make_bare(task const& task);

/// zero::ZeroEngine, one rank.
[[nodiscard]] std::unique_ptr<contestant> make_stage0(task const& task);
[[nodiscard]] std::unique_ptr<contestant> make_stage1(task const& task);
[[nodiscard]] std::unique_ptr<contestant> make_stage2(task const& task);
[[nodiscard]] std::unique_ptr<contestant> make_stage3(task const& task);

}  // namespace bench
