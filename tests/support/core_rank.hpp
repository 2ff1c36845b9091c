// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/detail/engine_core.hpp>
#include <zero/detail/engine_setup.hpp>
#include <zero/detail/full_access.hpp>
#include <zero/engine.hpp>
#include <zero/model/program.hpp>
#include <zero/options.hpp>
#include <zero/plan/schedule.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace zero::test {

/// Takes an engine's type apart.
template <class Engine>
struct setup_of;

template <class Model, class Policies>
struct setup_of<basic_zero_engine<Model, Policies>> : detail::engine_setup<Model, Policies> {
  using type = detail::engine_setup<Model, Policies>;
};

/// One rank of an engine without its public face: any model's program is walked token by token, and
/// the states lie open.
template <class Platform, class Engine>
class core_rank {
 public:
  using model_type = typename Engine::model_type;
  using setup = typename setup_of<Engine>::type;
  using core_type = detail::engine_core<typename setup::types>;

  core_rank(model_type const& model,
            typename Engine::communicator_type communicator,
            typename Engine::options const& options)
      : values_(std::make_unique<model_type>(model)),
        gradients_(std::make_unique<model_type>(model)),
        core_(setup::make_core(*values_, *gradients_, std::move(communicator), options)) {}

  [[nodiscard]] core_type& core() { return *core_; }

  [[nodiscard]] core_type const& core() const { return *core_; }

  [[nodiscard]] execution_plan const& plan() const { return core_->plan(); }

  template <class Fill>
  void initialize(Fill&& fill) {
    core_->reset_optimizer();
    detail::full_access(*core_).write(std::forward<Fill>(fill));
  }

  /// A training pass. `gradient(parameter)` gives the values of a parameter's gradient; it is asked
  /// once for each trained parameter.
  template <class Gradient>
  void micro_step(std::int64_t index, std::int64_t count, Gradient&& gradient) {
    core_->begin_pass({true, index == 0, index + 1 == count, false});
    for (auto const& token : plan().program.forward) {
      pass(token);
    }
    std::vector<char> done(static_cast<std::size_t>(plan().layout.model_units), char{0});
    for (auto const& token : plan().program.backward) {
      pass(token);
      if (token.open && std::exchange(done[static_cast<std::size_t>(token.unit)], char{1}) == 0) {
        core_->request_gradients(token.unit, false);
        write_gradients(token.unit, gradient);
      }
    }
    core_->end_pass();
  }

  void step(step_options const& numbers, std::int64_t micro_steps) {
    core_->step(numbers, micro_steps);
    core_->drain();
  }

  /// `n` elements of one of the engine's buffers.
  template <class T>
  [[nodiscard]] static std::vector<T> read(void const* from, std::int64_t n) {
    return Platform::read(static_cast<T const*>(from), n);
  }

 private:
  void pass(program_token const& token) {
    if (token.open) {
      core_->open(token.unit, token.ph);
    } else {
      core_->close(token.unit, token.ph);
    }
  }

  template <class Gradient>
  void write_gradients(std::int32_t unit, Gradient& gradient) {
    for (std::size_t i = 0; i < plan().parameters.size(); ++i) {
      auto const& p = plan().parameters[i];
      if (p.unit != unit || p.traits.frozen || p.elements == 0) {
        continue;
      }
      std::vector<float> const numbers = gradient(i);
      visit_dtype(p.type, [&]<class T>(std::type_identity<T>) {
        std::vector<T> rounded;
        rounded.reserve(numbers.size());
        for (float const number : numbers) {
          rounded.push_back(from_float<T>(number));
        }
        Platform::write(static_cast<T*>(core_->model().gradients[i]->address), rounded);
      });
    }
  }

  std::unique_ptr<model_type> values_;
  std::unique_ptr<model_type> gradients_;
  std::unique_ptr<core_type> core_;
};

}  // namespace zero::test
