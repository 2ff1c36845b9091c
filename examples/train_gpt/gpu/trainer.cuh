// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../allocation_count.hpp"
#include "../corpus.hpp"
#include "../options.hpp"
#include "../progress.hpp"
#include "../report.hpp"
#include "../reporting.hpp"
#include "../sampler.hpp"
#include "../step_timeline.hpp"
#include "../step_traffic.hpp"
#include "../tuning.hpp"
#include "../weights.hpp"
#include "driver_calls.hpp"
#include "network.hpp"
#include "passes.hpp"
#include "windows.hpp"

#include <zero/cuda.cuh>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace train_gpt::gpu {

/// One rank's part in a training run on a GPU; `train_gpt::trainer` is its twin on the host.
/// Construction and every member function are collective.
///
/// A step enqueues and returns: the text lies on the device, and losses stay there until a line is
/// printed.
template <class Engine>
class trainer {
 public:
  using model = typename Engine::model_type;
  using value_type = typename model::value_type;

  trainer(options const& chosen,
          corpus const& text,
          typename Engine::communicator_type communicator)
      : chosen_(chosen),
        text_(text),
        schedule_(chosen),
        engine_(model(chosen.shape),
                std::move(communicator),
                engine_options<Engine>(chosen),
                zero::cuda_options{.compute_stream = stream_.get()}),
        network_(
            chosen.shape, chosen.batch, stream_.get(), {.deterministic = chosen.deterministic}),
        windows_(text, chosen.batch, chosen.shape.context, stream_.get()),
        losses_((chosen.steps + 1) * std::int64_t{sizeof(double)}, "losses") {
    start_weights(engine_, chosen);
  }

  /// Trains, and tells what happened. Only rank 0's report is complete.
  /// @param bytes_before what was taken of the device before the ranks began
  run_report run(std::int64_t bytes_before) {
    run_report report = begin_report(engine_, chosen_);
    report.matrix_products = network_.matrix_products();
    report.attention = network_.attention_name();
    progress shown(report, rank() == 0);
    step_timeline<Engine> timeline(engine_, chosen_);

    std::optional<double> validation = traffic_.start([&] { return validate(); });
    auto const allocations_before = allocations_so_far();
    auto const calls_before = watched_driver_calls();
    for (std::int64_t step = 0; step < chosen_.steps; ++step) {
      timeline.before_step(step);
      shown.begin_step();
      {
        watched_scope const scope;
        train_step(step);
      }
      shown.end_step();
      bool const validates = schedule_.validates_after(step);
      bool const prints = schedule_.prints_after(step);
      if (validates || prints || step + 1 == chosen_.steps) {
        count_steps(report, shown);
      }
      if (validates) {
        validation = report.validation_losses.emplace_back(validate());
      }
      if (prints) {
        shown.print(traffic_.mean(loss_of(step)), validation);
      }
    }
    traffic_.meet();
    auto const per_step = [&](std::int64_t count) {
      return static_cast<double>(count) / static_cast<double>(chosen_.steps);
    };
    if (allocations_before) {
      report.allocations_per_step = per_step(*allocations_so_far() - *allocations_before);
    }
    if (calls_before) {
      driver_calls const calls = *watched_driver_calls();
      report.device_allocations_per_step = per_step(calls.allocations - calls_before->allocations);
      report.host_waits_per_step = per_step(calls.waits - calls_before->waits);
    }
    report.peak_device_bytes = device_bytes_taken() - bytes_before;  // nothing was freed so far
    traffic_.meet();
    timeline.write();
    end_report(
        report,
        engine_,
        traffic_,
        shown,
        [&](std::int64_t step) { return loss_of(step); },
        [&] { return generate(); });
    return report;
  }

 private:
  [[nodiscard]] int rank() const { return engine_.rank(); }

  [[nodiscard]] double* loss_at(std::int64_t step) const {
    return static_cast<double*>(losses_.get()) + step;
  }

  /// A loss, brought to the host. Waits.
  [[nodiscard]] double loss_of(std::int64_t step) {
    if (step >= losses_fetched_) {
      zero::check_cuda(
          cudaMemcpyAsync(fetched_losses_.data() + losses_fetched_,
                          loss_at(losses_fetched_),
                          static_cast<std::size_t>(step + 1 - losses_fetched_) * sizeof(double),
                          cudaMemcpyDeviceToHost,
                          stream_.get()),
          "cudaMemcpyAsync");
      zero::check_cuda(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
      losses_fetched_ = step + 1;
    }
    return fetched_losses_[static_cast<std::size_t>(step)];
  }

  /// One optimizer step, enqueued.
  void train_step(std::int64_t step) {
    for (auto const micro : engine_.micro_steps(chosen_.micro_steps)) {
      // Numbered so that all ranks together see the same windows whatever the stage.
      std::int64_t const turn = step * chosen_.micro_steps + micro.index;
      std::int64_t const first = (turn * chosen_.ranks + rank()) * chosen_.batch;
      windows_.fill([&](std::int64_t i) {
        return text_.training_window(chosen_.seed, static_cast<std::uint64_t>(first + i));
      });
      forward(engine_,
              engine_.loss_scale(),
              loss_at(step),
              1.0 / static_cast<double>(chosen_.micro_steps),
              micro.index > 0);
      backward<model>(engine_, network_, chosen_.shape.layers);
    }
    engine_.step({.lr = schedule_.learning_rate(step)});
  }

  /// Adds the loss of the windows at hand to `*loss`.
  template <class Pass>
  void forward(Pass& pass, float const* loss_scale, double* loss, double factor, bool add) {
    network_.begin(windows_.tokens());
    forward_to_head<model>(pass, network_, chosen_.shape.layers);
    auto const lease = pass.forward(&model::embed);
    network_.head(addresses(*lease), windows_.targets(), loss_scale, loss, factor, add);
  }

  /// Waits for the steps so far, as part of their time, and counts them.
  void count_steps(run_report& report, progress& shown) {
    shown.begin_step();
    auto const result = engine_.result();
    shown.end_wait();
    report.applied_steps = result.applied_steps;
    report.skipped_steps = result.step - result.applied_steps;
  }

  /// The mean loss of windows that were held out; each rank takes its part of them.
  double validate() {
    traffic_.count_validation();
    for (std::int64_t turn = 0; turn < validation_batches; ++turn) {
      std::int64_t const first = (turn * chosen_.ranks + rank()) * chosen_.batch;
      std::int64_t const count = validation_batches * chosen_.ranks * chosen_.batch;
      windows_.fill([&](std::int64_t i) { return text_.validation_window(first + i, count); });
      auto pass = engine_.evaluation();
      forward(pass, nullptr, loss_at(chosen_.steps), 1.0 / validation_batches, turn > 0);
      pass.end();
    }
    double loss = 0;
    zero::check_cuda(
        cudaMemcpyAsync(
            &loss, loss_at(chosen_.steps), sizeof loss, cudaMemcpyDeviceToHost, stream_.get()),
        "cudaMemcpyAsync");
    zero::check_cuda(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
    return traffic_.mean(loss);
  }

  /// Rank 0 writes a text, a token a pass; the others serve the parameters it needs.
  std::string generate() {
    sampler text(chosen_.seed);
    std::vector<float> probabilities(256);
    for (int i = 0; i < sample_length; ++i) {
      auto pass = engine_.evaluation();
      if (rank() == 0) {
        auto const tokens = text.latest(chosen_.shape.context);
        windows_.fill_first(tokens);
        network_.begin(windows_.tokens());
        forward_to_head<model>(pass, network_, chosen_.shape.layers);
        auto const lease = pass.forward(&model::embed);
        float const* const logits =
            network_.predict(addresses(*lease), static_cast<std::int64_t>(tokens.size()) - 1);
        zero::check_cuda(cudaMemcpyAsync(probabilities.data(),
                                         logits,
                                         probabilities.size() * sizeof(float),
                                         cudaMemcpyDeviceToHost,
                                         stream_.get()),
                         "cudaMemcpyAsync");
        zero::check_cuda(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
        to_probabilities(probabilities);
        text.draw(probabilities);
      } else {
        pass.follow();
      }
    }
    return text.printable();
  }

  static void to_probabilities(std::vector<float>& logits) {
    float const largest = *std::max_element(logits.begin(), logits.end());
    float sum = 0;
    for (float& x : logits) {
      x = std::exp(x - largest);
      sum += x;
    }
    for (float& x : logits) {
      x /= sum;
    }
  }

  static constexpr std::int64_t validation_batches = 4;  // a rank, each time
  static constexpr int sample_length = 400;

  options chosen_;
  corpus const& text_;
  schedule schedule_;
  zero::gpu::stream stream_{zero::gpu::stream_priority::normal};
  Engine engine_;
  step_traffic<Engine> traffic_{engine_};
  network<value_type> network_;
  windows windows_;
  zero::gpu::memory losses_;
  std::vector<double> fetched_losses_ =
      std::vector<double>(static_cast<std::size_t>(chosen_.steps));
  std::int64_t losses_fetched_ = 0;
};

/// Trains with one engine type over `zero::Local`: `chosen.ranks` ranks, each a thread of this
/// process; they share its GPUs.
template <class Engine>
  requires std::is_same_v<typename Engine::communicator_type, zero::local_gpu_communicator>
run_report train(options const& chosen, corpus const& text) {
  zero::check_cuda(cudaFree(nullptr), "cudaFree");  // makes the device's context
  watch_driver();
  std::int64_t const bytes_before = device_bytes_taken();
  run_report result;
  zero::local_gpu_world::run(chosen.ranks, [&](auto communicator) {
    bool const first = communicator.rank() == 0;
    run_report report = trainer<Engine>(chosen, text, std::move(communicator)).run(bytes_before);
    if (first) {
      result = std::move(report);
    }
  });
  return result;
}

#if __has_include(<nccl.h>)

/// Trains with one engine type over `zero::Nccl`: this process is one rank of those that a launcher
/// has started, whatever `--ranks` says.
template <class Engine>
  requires std::is_same_v<typename Engine::communicator_type, zero::nccl_communicator>
run_report train(options const& chosen, corpus const& text) {
  zero::nccl_options links;
  links.registration = chosen.registration == "peers" ? zero::nccl_registration::peers
                                                      : zero::nccl_registration::none;
  zero::nccl_communicator communicator = zero::Nccl::from_environment(links);
  zero::check_cuda(cudaSetDevice(communicator.device()), "cudaSetDevice");
  watch_driver();
  std::int64_t const bytes_before = device_bytes_taken();
  options mine = chosen;
  mine.ranks = communicator.size();
  return trainer<Engine>(mine, text, std::move(communicator)).run(bytes_before);
}

#endif

}  // namespace train_gpt::gpu
