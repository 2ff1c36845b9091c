// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"
#include "progress.hpp"
#include "report.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numbers>
#include <optional>

namespace train_gpt {

schedule::schedule(options const& chosen)
    : steps_(chosen.steps),
      peak_(chosen.lr) {}

double schedule::learning_rate(std::int64_t step) const {
  std::int64_t const warm_up = std::max(steps_ / 20, std::min<std::int64_t>((steps_ + 1) / 2, 20));
  if (step < warm_up) {
    return peak_ * static_cast<double>(step + 1) / static_cast<double>(warm_up);
  }
  double const done = static_cast<double>(step - warm_up) /
                      static_cast<double>(std::max<std::int64_t>(1, steps_ - warm_up));
  return peak_ * (0.1 + 0.9 * 0.5 * (1 + std::cos(std::numbers::pi * done)));
}

bool schedule::validates_after(std::int64_t step) const {
  return (step + 1) % validation_interval() == 0 || step + 1 == steps_;
}

std::size_t schedule::validations() const {
  std::int64_t const every = validation_interval();
  return static_cast<std::size_t>((steps_ + every - 1) / every);
}

std::int64_t schedule::validation_interval() const {
  return std::max<std::int64_t>(1, steps_ / 10);
}

bool schedule::prints_after(std::int64_t step) const {
  std::int64_t const every = std::clamp<std::int64_t>(steps_ / 30, 1, 10);
  return step == 0 || (step + 1) % every == 0 || validates_after(step);
}

progress::progress(run_report const& run, bool prints)
    : chosen_(run.chosen),
      prints_(prints && !chosen_.quiet) {
  if (prints_) {
    std::printf(
        "GPT of %s parameters: %lld layers, %lld channels, %lld heads, context %lld\n"
        "Stage %d, %d ranks, %s, %s, global batch %s tokens\n"
        "Matrix products by %s, attention by %s\n",
        grouped(run.parameters).c_str(),
        static_cast<long long>(chosen_.shape.layers),
        static_cast<long long>(chosen_.shape.channels),
        static_cast<long long>(chosen_.shape.heads),
        static_cast<long long>(chosen_.shape.context),
        chosen_.stage,
        chosen_.ranks,
        chosen_.precision.c_str(),
        chosen_.optimizer.c_str(),
        grouped(tokens_of_step(chosen_)).c_str(),
        run.matrix_products.c_str(),
        run.attention.c_str());
    std::fflush(stdout);
  }
}

void progress::begin_step() {
  step_started_ = clock::now();
  if (step_ == 0) {
    started_ = step_started_;
  }
}

void progress::end_step() {
  end_wait();
  ++step_;
}

void progress::end_wait() {
  seconds_ += std::chrono::duration<double>(clock::now() - step_started_).count();
}

void progress::print(double loss, std::optional<double> validation_loss) {
  if (!prints_) {
    return;
  }
  if (validation_loss) {
    validation_loss_ = validation_loss;
  }
  char validation[32] = "       ";
  if (validation_loss_) {
    std::snprintf(validation, sizeof validation, "%7.4f", *validation_loss_);
  }
  double const elapsed = std::chrono::duration<double>(clock::now() - started_).count();
  long long const left = std::llround(elapsed / static_cast<double>(step_) *
                                      static_cast<double>(chosen_.steps - step_));
  std::printf("step %5lld/%lld  loss %7.4f  validation %s  %8.0f tokens/s  %lld:%02lld left\n",
              static_cast<long long>(step_),
              static_cast<long long>(chosen_.steps),
              loss,
              validation,
              tokens_per_second(),
              left / 60,
              left % 60);
  std::fflush(stdout);
}

double progress::tokens_per_second() const {
  return static_cast<double>(step_ * tokens_of_step(chosen_)) / seconds_;
}

}  // namespace train_gpt
