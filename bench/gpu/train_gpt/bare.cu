// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/train_gpt/training.hpp"
#include "examples/train_gpt/gpu/pointers.hpp"
#include "examples/train_gpt/model.hpp"
#include "examples/train_gpt/tuning.hpp"

#include <zero/core/norm.hpp>
#include <zero/device/gpu/kernels.cuh>
#include <zero/device/update_arguments.hpp>
#include <zero/model/describe.hpp>
#include <zero/optim/adamw.hpp>
#include <zero/optim/step_state.hpp>
#include <zero/plan/groups.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace bench {

namespace {

using zero::bf16;
using kernels = zero::gpu_kernels;
using rule = zero::AdamW;
using model = train_gpt::Gpt<bf16>;

/// What one would write by hand.
class bare final : public training {
 public:
  explicit bare(task const& task)
      : training(task),
        weights_(task.chosen.shape),
        gradients_(task.chosen.shape) {
    lay_out();
    initialize();
    control_.clip_norm = task.chosen.clip;
    kernels::preload<rule, bf16, float>();
  }

  void step() override {
    using train_gpt::gpu::addresses;
    fill_windows();
    network_.embed(addresses(std::as_const(weights_.embed)));
    for (std::size_t layer = 0; layer < weights_.blocks.size(); ++layer) {
      network_.block(static_cast<std::int64_t>(layer),
                     addresses(std::as_const(weights_.blocks[layer])));
    }
    network_.norm(addresses(std::as_const(weights_.norm)));
    network_.head(addresses(std::as_const(weights_.embed)),
                  windows_.targets(),
                  &state()->loss_scale,
                  static_cast<double*>(loss_.get()),
                  1.0,
                  false);

    network_.head_backward(addresses(std::as_const(weights_.embed)), addresses(gradients_.embed));
    network_.norm_backward(addresses(std::as_const(weights_.norm)), addresses(gradients_.norm));
    accumulate(units_.back());
    for (std::size_t layer = weights_.blocks.size(); layer-- > 0;) {
      network_.block_backward(static_cast<std::int64_t>(layer),
                              addresses(std::as_const(weights_.blocks[layer])),
                              addresses(gradients_.blocks[layer]));
      accumulate(units_[layer + 1]);
    }
    network_.embed_backward(addresses(gradients_.embed));
    accumulate(units_.front());

    control_.lr = schedule_.learning_rate(step_++);
    kernels::reduce_partials(stream(),
                             doubles(partials_),
                             blocks_,
                             doubles(scratch_),
                             static_cast<double*>(record_.get()));
    kernels::set_control(
        stream(), static_cast<zero::step_control*>(device_control_.get()), control_);
    kernels::decide<rule>(stream(),
                          state(),
                          static_cast<zero::rank_record const*>(record_.get()),
                          1,
                          static_cast<zero::step_control const*>(device_control_.get()),
                          static_cast<zero::step_config<rule> const*>(config_.get()),
                          static_cast<zero::step_record*>(ring_.get()),
                          0);
    zero::update_arguments<bf16, float> arguments;
    arguments.gradient = floats(accumulators_);
    arguments.master = floats(master_);
    arguments.moments[0] = floats(first_);
    arguments.moments[1] = floats(second_);
    arguments.parameter = static_cast<bf16*>(parameters_.get());
    arguments.n = elements_;
    arguments.segments = static_cast<zero::update_segment const*>(segments_.get());
    arguments.segment_count = segment_count_;
    kernels::update<rule>(stream(), arguments, state());
  }

 private:
  struct unit {
    std::int64_t first;        ///< element
    std::int64_t elements;     ///< padding included
    std::int64_t first_block;  ///< of partial sums
    bf16* gradient;
  };

  static double* doubles(zero::gpu::memory const& m) { return static_cast<double*>(m.get()); }

  static float* floats(zero::gpu::memory const& m) { return static_cast<float*>(m.get()); }

  [[nodiscard]] zero::step_state<rule>* state() const {
    return static_cast<zero::step_state<rule>*>(state_.get());
  }

  template <class T>
  static zero::gpu::memory upload(T const* values, std::size_t count) {
    zero::gpu::memory m(static_cast<std::int64_t>(count * sizeof(T)), "bench");
    zero::check_cuda(cudaMemcpy(m.get(), values, count * sizeof(T), cudaMemcpyHostToDevice),
                     "cudaMemcpy");
    // The copy may end after the call, and other streams do not wait for it.
    zero::check_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
    return m;
  }

  /// Tensors at multiples of 256 bytes; gradients of all blocks share one buffer.
  void lay_out() {
    auto const layout = zero::describe(weights_);
    auto const weights = zero::tensors_of(weights_);
    auto const gradients = zero::tensors_of(gradients_);
    std::vector<std::int64_t> place;
    std::vector<zero::update_segment> segments;
    for (std::size_t i = 0; i < layout.parameters.size(); ++i) {
      zero::parameter const& p = layout.parameters[i];
      if (i == 0 || p.unit != layout.parameters[i - 1].unit) {
        elements_ = (elements_ + 2047) / 2048 * 2048;
        units_.push_back({elements_, 0, blocks_, nullptr});
      }
      place.push_back(elements_);
      if (!segments.empty()) {
        segments.back().end = elements_;
      }
      segments.push_back({elements_, 0, p.traits.weight_decay ? 0 : 1});
      elements_ += (p.elements + 127) / 128 * 128;
      units_.back().elements = elements_ - units_.back().first;
      if (i + 1 == layout.parameters.size() || layout.parameters[i + 1].unit != p.unit) {
        blocks_ += zero::norm_blocks(units_.back().elements);
      }
    }
    parameters_ = zeros(elements_ * std::int64_t{sizeof(bf16)});
    for (zero::gpu::memory* const m : {&accumulators_, &master_, &first_, &second_}) {
      *m = zeros(elements_ * std::int64_t{sizeof(float)});
    }
    std::int64_t const block_bytes = units_[1].elements * std::int64_t{sizeof(bf16)};
    embed_gradient_ = zeros(units_.front().elements * std::int64_t{sizeof(bf16)});
    block_gradient_ = zeros(block_bytes);
    norm_gradient_ = zeros(units_.back().elements * std::int64_t{sizeof(bf16)});
    for (unit& u : units_) {
      u.gradient = static_cast<bf16*>(block_gradient_.get());
    }
    units_.front().gradient = static_cast<bf16*>(embed_gradient_.get());
    units_.back().gradient = static_cast<bf16*>(norm_gradient_.get());
    for (std::size_t i = 0; i < place.size(); ++i) {
      unit const& u = units_[static_cast<std::size_t>(layout.parameters[i].unit)];
      weights[i]->address = static_cast<bf16*>(parameters_.get()) + place[i];
      gradients[i]->address = u.gradient + (place[i] - u.first);
    }
    segments.back().end = elements_;
    zero::index_segments(segments, elements_);
    segments_ = upload(segments.data(), segments.size());
    segment_count_ = static_cast<std::int32_t>(segments.size());
    place_ = place;

    partials_ = zeros(blocks_ * std::int64_t{sizeof(double)});
    scratch_ = zeros((kernels::partials_scratch(blocks_) + 1) * std::int64_t{sizeof(double)});
    record_ = zeros(sizeof(zero::rank_record));
    ring_ = zeros(sizeof(zero::step_record));
    device_control_ = zeros(sizeof(zero::step_control));
    zero::step_config<rule> config;
    train_gpt::tune(config.options);
    config.groups[1].decay = 0;
    config.group_count = 2;
    config_ = upload(&config, 1);
    auto const start = zero::initial_state(config);
    state_ = upload(&start, 1);
  }

  static zero::gpu::memory zeros(std::int64_t bytes) {
    zero::gpu::memory m(bytes, "bench");
    zero::check_cuda(cudaMemset(m.get(), 0, static_cast<std::size_t>(bytes)), "cudaMemset");
    return m;
  }

  void initialize() {
    auto const layout = zero::describe(weights_);
    auto const names = zero::parameter_names(weights_);
    std::vector<float> values(static_cast<std::size_t>(elements_));
    for (std::size_t i = 0; i < names.size(); ++i) {
      bool const norm_weight =
          !layout.parameters[i].traits.weight_decay && names[i].ends_with("weight");
      bool const matrix = layout.parameters[i].traits.weight_decay;
      std::uint64_t const key = zero::key_of(names[i], 1);
      for (std::int64_t k = 0; k < layout.parameters[i].elements; ++k) {
        values[static_cast<std::size_t>(place_[i] + k)] =
            initial_value(matrix, norm_weight, key, static_cast<std::uint64_t>(k));
      }
    }
    zero::check_cuda(cudaMemcpyAsync(master_.get(),
                                     values.data(),
                                     values.size() * sizeof(float),
                                     cudaMemcpyHostToDevice,
                                     stream()),
                     "cudaMemcpyAsync");
    kernels::cast(stream(), floats(master_), static_cast<bf16*>(parameters_.get()), elements_);
    zero::check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

  void accumulate(unit const& u) {
    kernels::accumulate(stream(),
                        static_cast<bf16 const*>(u.gradient),
                        floats(accumulators_) + u.first,
                        u.elements,
                        false,
                        1,
                        doubles(partials_) + u.first_block);
  }

  model weights_;
  model gradients_;
  std::vector<unit> units_;
  std::vector<std::int64_t> place_;
  std::int64_t elements_ = 0;
  std::int64_t blocks_ = 0;
  zero::step_control control_;
  zero::gpu::memory parameters_;
  zero::gpu::memory accumulators_;
  zero::gpu::memory master_;
  zero::gpu::memory first_;
  zero::gpu::memory second_;
  zero::gpu::memory embed_gradient_;
  zero::gpu::memory block_gradient_;
  zero::gpu::memory norm_gradient_;
  zero::gpu::memory segments_;
  std::int32_t segment_count_ = 0;
  zero::gpu::memory partials_;
  zero::gpu::memory scratch_;
  zero::gpu::memory record_;
  zero::gpu::memory ring_;
  zero::gpu::memory device_control_;
  zero::gpu::memory config_;
  zero::gpu::memory state_;
};

}  // namespace

std::unique_ptr<contestant> make_bare(task const& task) {
  return std::make_unique<bare>(task);
}

}  // namespace bench
