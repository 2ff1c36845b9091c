// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/queue.hpp>
#include <zero/optim/concepts.hpp>
#include <zero/optim/loss_scale.hpp>
#include <zero/plan/schedule_options.hpp>
#include <zero/version.hpp>

#include <cstdint>
#include <optional>

namespace zero::inline ZERO_ABI {

/// Hooks that move an engine's queues against each other and fill memory with NaN, to show that no
/// result depends on timing or on what memory held before. Off by default, and free when off.
struct stress_options {
  bool poison = false;  ///< slots and receive buffers are filled with NaN when their use ends
  void (*delay)(queue,
                void* stream) = nullptr;  ///< called before each operation, by the thread that runs
                                          ///< it; the stream is a GPU's, null where a stream is
                                          ///< no pointer; for devices that are delayable
};

/// Run-time choices of an engine. Every field has a default; every rank must choose the same.
template <optimizer O>
struct engine_options {
  double clip_norm = 0;  ///< largest norm of the gradient; larger ones are scaled down; 0: off
  bool mean = true;      ///< the gradient is the mean over ranks and micro-steps; false: the sum
  schedule_options schedule{};      ///< when and in what portions bytes move, and what stays whole
  bool overlap = true;              ///< communication runs beside compute; false: in line with it
  typename O::options optimizer{};  ///< hyper-parameters
  loss_scale_options loss_scale{};  ///< FP16 only
  stress_options stress{};          ///< for tests
};

/// Numbers of one step. What is left out is as in the options. Every rank must pass the same; they
/// are not compared.
struct step_options {
  std::optional<double>
      lr;  ///< learning rate, 0 or more; without it, that of the optimizer's options
  double gradient_scale = 1;  ///< multiplies the gradient, e.g. 1 / tokens with `mean` off
  double const* device_gradient_scale = nullptr;  ///< the same in device memory; multiplies as
                                                  ///< well; read when the step runs
};

}  // namespace zero::inline ZERO_ABI
