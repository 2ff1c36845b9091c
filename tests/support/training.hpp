// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/core/hash.hpp>
#include <zero/core/queue.hpp>
#include <zero/core/random.hpp>
#include <zero/core/traffic.hpp>
#include <zero/engine.hpp>
#include <zero/model/traverse.hpp>
#include <zero/optim/loss_scale.hpp>
#include <zero/optim/step_state.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace zero::test {

/// Where in a training a gradient is computed.
struct gradient_place {
  int rank = 0;
  int ranks = 1;
  std::int64_t step = 0;
  std::int64_t micro = 0;
  std::int64_t micro_steps = 1;
  int unit = 0;            ///< the model's own number of the unit
  int tensor = 0;          ///< which tensor of the unit
  int visit = 0;           ///< which visit of the unit in this backward pass
  std::uint64_t seen = 0;  ///< a hash of the parameters that the unit had in forward and backward
  dtype type = dtype::fp32;
  float loss_scale = 1;

  /// One number for all of it but the loss scale.
  [[nodiscard]] std::uint64_t key() const {
    auto const word = [](auto n) { return static_cast<std::uint64_t>(n); };
    return mix_hash(word(rank) * 1000 + word(step),
                    word(micro) * 10'000 + word(unit) * 100 + word(tensor) * 10 + word(visit),
                    seen);
  }
};

/// Writes the gradient of one tensor, times the loss scale.
using gradient_rule = std::function<void(gradient_place const&, std::span<float>)>;

/// Gradients whose exponents spread so widely that each order of adding them gives other bits, and
/// that change completely with any bit of any parameter that the rank was shown.
inline void wild_gradients(gradient_place const& place, std::span<float> values) {
  bool const narrow = place.type == dtype::fp16;  // room for the loss scale
  std::uint64_t state = place.key();
  for (float& value : values) {
    state += 0x9E3779B97F4A7C15U;
    std::uint64_t const bits = detail::mix(state);
    if (bits % 61 == 0) {
      value = 0;
      continue;
    }
    auto const fraction = static_cast<float>(0x80'0000U | (bits >> 41U)) * 0x1p-23F;
    int const exponent = static_cast<int>(bits >> 8U & 0xffU) % (narrow ? 19 : 29);
    float const magnitude = std::ldexp(fraction, exponent - (narrow ? 9 : 14));
    value = ((bits >> 7U & 1U) != 0 ? -magnitude : magnitude) * place.loss_scale;
  }
}

/// What is trained and how; plain values, so that a law can change one and compare.
struct training_job {
  int ranks = 1;
  int stage = 0;
  std::int64_t micro_steps = 1;
  int steps = 4;

  // settings of the engine
  double clip_norm = 0;
  bool mean = true;
  int prefetch_units = 1;
  std::int64_t piece_bytes = std::int64_t{32} << 20;
  std::int64_t residency_bytes = 600;
  bool gather_tied = false;
  bool overlap = true;
  bool poison = false;
  bool delays = false;  ///< random ones, before each operation
  loss_scale_options loss_scale{.initial = 8};
  double lr = 1e-2;
  double gradient_scale = 1;
  double const* device_gradient_scale = nullptr;

  // what the ranks do
  gradient_rule gradients = wild_gradients;
  bool evaluate = true;      ///< evaluation passes between micro-steps and between steps
  bool empty_visits = true;  ///< some ranks give some units no gradient in some micro-steps
  bool reversed = false;     ///< rank r computes what rank ranks - 1 - r would
  /// Number to be written over an element of a gradient of one unit, 0: none.
  std::function<float(gradient_place const&)> spoil;
};

/// What came of it, on all ranks alike.
struct training_outcome {
  std::uint64_t parameters = 0;  ///< hash of the masters
  std::uint64_t replicas = 0;    ///< hash of the parameters as gathered
  std::uint64_t observed = 0;    ///< hash of all parameters that user code was shown
  std::vector<step_record> steps;

  friend bool operator==(training_outcome const& a, training_outcome const& b) {
    return a.parameters == b.parameters && a.replicas == b.replicas && a.observed == b.observed &&
           same_steps(a.steps, b.steps);
  }

 private:
  static bool same_steps(std::vector<step_record> const& a, std::vector<step_record> const& b) {
    bool same = a.size() == b.size();
    for (std::size_t i = 0; same && i < a.size(); ++i) {
      same = a[i].step == b[i].step && a[i].applied == b[i].applied && a[i].reason == b[i].reason &&
             std::bit_cast<std::uint64_t>(a[i].norm) == std::bit_cast<std::uint64_t>(b[i].norm) &&
             a[i].clip_factor == b[i].clip_factor && a[i].loss_scale == b[i].loss_scale &&
             a[i].applied_steps == b[i].applied_steps &&
             a[i].skipped_in_row == b[i].skipped_in_row && a[i].at_floor == b[i].at_floor;
    }
    return same;
  }
};

/// A delay that differs from call to call: mostly none, sometimes up to 0.3 ms.
inline void random_delay(queue /*queue*/, void* /*stream*/) {
  static std::atomic<std::uint64_t> calls{0};
  std::uint64_t const bits = detail::mix(calls.fetch_add(1));
  if (bits % 8 == 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(bits >> 8U & 0xffU));
  }
}

/// One rank's side of a training: what a user's loop does.
template <class Platform, class Engine>
class training_rank {
 public:
  using model = typename Engine::model_type;

  training_rank(Engine& engine, training_job const& job)
      : engine_(&engine),
        job_(&job) {
    place_.rank = job.reversed ? job.ranks - 1 - engine.rank() : engine.rank();
    place_.ranks = job.ranks;
    place_.micro_steps = job.micro_steps;
  }

  /// One step, with evaluation passes in between.
  void step(std::int64_t number) {
    place_.step = number;
    for (auto const micro : engine_->micro_steps(job_->micro_steps)) {
      place_.micro = micro.index;
      place_.loss_scale = Platform::read(engine_->loss_scale(), 1).front();
      if (job_->evaluate && micro.index % 3 == 1) {
        evaluate();  // before the pass has begun
      }
      seen_.fill(0);
      visits_.fill(0);
      model::forward(*engine_, [&](auto& lease, int unit) { see(lease.params(), unit); });
      model::backward(*engine_, [&](auto& lease, int unit) { learn(lease, unit); });
      if (job_->evaluate && micro.index % 2 == 0) {
        evaluate();  // the next micro-step, or step, is still to come
      }
    }
    engine_->step({.lr = job_->lr,
                   .gradient_scale = job_->gradient_scale,
                   .device_gradient_scale = job_->device_gradient_scale});
    if (job_->evaluate && number % 2 == 0) {
      evaluate();
    }
  }

  /// An evaluation pass; all ranks but the first follow.
  void evaluate() {
    auto pass = engine_->evaluation();
    if (engine_->rank() == 0) {
      model::forward(pass, [&](auto& lease, int unit) { see(lease.params(), unit); });
    } else {
      pass.follow();
    }
    pass.end();
  }

  /// A hash of all parameters that were shown so far.
  [[nodiscard]] std::uint64_t observed() const { return observed_; }

 private:
  static constexpr std::size_t most_units = 32;

  template <class Object>
  void see(Object const& object, int unit) {
    std::uint64_t hash = 0;
    auto add = [&]<class Tensor>(Tensor const& tensor) {
      using element_type = typename Tensor::value_type;
      for (element_type const value : Platform::read(tensor.data(), tensor.size())) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &value, sizeof value);
        hash = (hash ^ bits) * 0x100000001B3U;
      }
    };
    detail::for_each_tensor(object, add);
    auto& seen = seen_[static_cast<std::size_t>(unit)];
    seen = mix_hash(static_cast<std::uint64_t>(unit), seen, hash);
    observed_ += mix_hash(seen, static_cast<std::uint64_t>(place_.step), hash);
  }

  template <class Lease>
  void learn(Lease& lease, int unit) {
    see(lease.params(), unit);
    place_.unit = unit;
    place_.seen = seen_[static_cast<std::size_t>(unit)];
    place_.visit = visits_[static_cast<std::size_t>(unit)]++;
    place_.tensor = 0;
    auto const turn = place_.step + place_.micro + unit;
    if (job_->empty_visits && turn % 3 == place_.rank % 3 && unit % 2 == 1) {
      return;  // an empty visit
    }
    bool const overwrites = !lease.accumulate() && turn % 2 == 0;
    auto& gradients = overwrites ? lease.grads(overwrite) : lease.grads();
    auto write = [&]<class Tensor>(Tensor& tensor) {
      ++place_.tensor;
      if (tensor.traits.frozen || tensor.size() == 0) {
        if (tensor.data() != nullptr) {
          throw std::logic_error("a gradient that does not exist has an address");
        }
        return;
      }
      write_gradient(tensor, overwrites);
    };
    detail::for_each_tensor(gradients, write);
  }

  template <class Tensor>
  void write_gradient(Tensor& tensor, bool overwrites) {
    using element_type = typename Tensor::value_type;
    place_.type = dtype_of<element_type>;
    values_.resize(static_cast<std::size_t>(tensor.size()));
    job_->gradients(place_, values_);
    if (job_->spoil && place_.unit == 4) {
      float const value = job_->spoil(place_);
      values_.back() = value != 0 ? value : values_.back();
    }
    std::vector<element_type> numbers;
    numbers.reserve(values_.size());
    if (!overwrites) {  // zeros, or the sum of earlier visits
      numbers = Platform::read(const_cast<element_type const*>(tensor.data()), tensor.size());
      for (std::size_t i = 0; i < values_.size(); ++i) {
        numbers[i] = from_float<element_type>(to_float(numbers[i]) + values_[i]);
      }
    } else {
      for (float const value : values_) {
        numbers.push_back(from_float<element_type>(value));
      }
    }
    Platform::write(tensor.data(), numbers);
  }

  Engine* engine_;
  training_job const* job_;
  gradient_place place_;
  std::array<std::uint64_t, most_units> seen_{};
  std::array<int, most_units> visits_{};
  std::uint64_t observed_ = 0;
  std::vector<float> values_;
};

}  // namespace zero::test
