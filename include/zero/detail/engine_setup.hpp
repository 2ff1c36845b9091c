// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/arithmetic.hpp>
#include <zero/core/error.hpp>
#include <zero/core/random.hpp>
#include <zero/detail/check_optimizer.hpp>
#include <zero/detail/check_platform.hpp>
#include <zero/detail/control_block.hpp>
#include <zero/detail/engine_core.hpp>
#include <zero/detail/tensor_binding.hpp>
#include <zero/device/abilities.hpp>
#include <zero/device/host.hpp>
#include <zero/model/describe.hpp>
#include <zero/model/program.hpp>
#include <zero/options.hpp>
#include <zero/parameter_view.hpp>
#include <zero/plan/config.hpp>
#include <zero/plan/plan.hpp>
#include <zero/policy/categories.hpp>
#include <zero/policy/policy_list.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace zero::inline ZERO_ABI::detail {

/// Turns policies into values and types: the only place that knows both.
/// @tparam Policies a `policy_list`
template <class Model, class Policies>
struct engine_setup {
  using stage = policy_of_t<Policies, stage_category>;
  using per_unit = policy_of_t<Policies, per_unit_category>;
  using precision = policy_of_t<Policies, precision_category>;
  using optimizer = policy_of_t<Policies, optimizer_category>;
  using communicator = policy_of_t<Policies, communicator_category>;
  using device = policy_of_t<Policies, device_category>;
  using parameter_type = typename precision::type;
  static constexpr bool native_accumulate = policy_of_t<Policies, accumulate_category>::native;
  static constexpr bool native_reduction = policy_of_t<Policies, reduction_category>::native;
  using accumulator_type = std::conditional_t<native_accumulate, parameter_type, float>;
  static_assert(
      check_platform<communicator, device, optimizer, parameter_type, accumulator_type>::value);
  using chosen = platform<communicator, device, optimizer, parameter_type, accumulator_type>;
  static constexpr bool on_host = std::is_same_v<typename chosen::device, host_device>;
  using types = engine_types<typename chosen::device,
                             typename chosen::communicator,
                             optimizer,
                             parameter_type,
                             native_accumulate>;
  static_assert(check_own_members<per_unit, Model>::value);

  /// The plan's configuration for `model` on `world` ranks.
  [[nodiscard]] static constexpr plan_config config(Model const& model,
                                                    int world,
                                                    engine_options<optimizer> const& options) {
    plan_config c;
    c.world = world;
    c.stage = stage::value;
    c.unit_stages = per_unit::unit_stages(model);
    c.native_accumulate = native_accumulate;
    c.native_reduction = native_reduction;
    c.averages_on_wire = native_reduction && std::is_same_v<parameter_type, fp16>;
    c.moments = optimizer::moments;
    c.schedule = options.schedule;
    c.state_bytes = step_state_bytes<optimizer>;
    return c;
  }

  [[nodiscard]] static bound_model bind(Model& model, Model& gradients) {
    bound_model bound;
    bound.unit_names = unit_names(model);
    bound.unit_names.emplace_back("(resident parameters)");  // the unit after the model's own
    bound.values = tensors_of(model);
    bound.gradients = tensors_of(gradients);
    auto const names = parameter_names(model);
    auto const layout = describe(model);
    for (std::size_t i = 0; i < names.size(); ++i) {
      parameter_view view;
      view.name = names[i];
      view.shape = bound.values[i]->extents;
      view.elements = layout.parameters[i].elements;
      view.type = layout.parameters[i].type;
      view.traits = layout.parameters[i].traits;
      view.key = key_of(names[i], 0);
      bound.parameters.push_back(view);
      bound.values[i]->address = nullptr;
      bound.gradients[i]->address = nullptr;
    }
    return bound;
  }

  template <class... DeviceArguments>
  [[nodiscard]] static std::unique_ptr<engine_core<types>> make_core(
      Model& model,
      Model& gradients,
      typename types::communicator communicator,
      engine_options<optimizer> const& options,
      DeviceArguments&&... device) {
    precondition(
        arithmetic_is_exact(),
        "zero::ZeroEngine: this build contracts a * b + c, which changes results; compile with "
        "-ffp-contract=off");
    precondition(options.clip_norm >= 0 && is_finite(options.clip_norm),
                 "zero::ZeroEngine: clip_norm must be finite and not negative; 0 is off");
    precondition(options.stress.delay == nullptr || delayable_device<typename types::device>,
                 "zero::ZeroEngine: stress.delay needs a device that can delay its bodies, see "
                 "zero::delayable_device; leave it null on this one");
    if constexpr (precision::loss_scaling) {
      check(options.loss_scale);
    }
    check_optimizer<optimizer>(options.optimizer);
    auto const layout = describe(model);
    precondition(
        !layout.parameters.empty(),
        "zero::ZeroEngine: the container has no tensors; give its vectors and optionals their "
        "elements before the engine takes it");
    auto plan = make_plan(layout.parameters,
                          layout.units,
                          make_program(model),
                          config(model, communicator.size(), options));
    auto bound = bind(model, gradients);
    if constexpr (on_host && sizeof...(DeviceArguments) == 0) {
      return std::make_unique<engine_core<types>>(std::move(plan),
                                                  std::move(bound),
                                                  std::move(communicator),
                                                  options,
                                                  precision::loss_scaling,
                                                  host_options{.asynchronous = options.overlap});
    } else {
      using check = check_device_arguments<typename types::device, DeviceArguments...>;
      static_assert(check::value);
      if constexpr (check::made) {  // else one error is enough
        return std::make_unique<engine_core<types>>(std::move(plan),
                                                    std::move(bound),
                                                    std::move(communicator),
                                                    options,
                                                    precision::loss_scaling,
                                                    std::forward<DeviceArguments>(device)...);
      } else {
        return nullptr;
      }
    }
  }
};

}  // namespace zero::inline ZERO_ABI::detail
