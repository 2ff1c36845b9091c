// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>
#include <zero/comm/local.hpp>
#include <zero/core/error.hpp>
#include <zero/detail/engine_setup.hpp>
#include <zero/device/host.hpp>
#include <zero/device/host_kernels.hpp>
#include <zero/fwd.hpp>
#include <zero/lease.hpp>
#include <zero/model/describe.hpp>
#include <zero/model/program.hpp>
#include <zero/model/unit.hpp>
#include <zero/optim/adamw.hpp>
#include <zero/optim/lion.hpp>
#include <zero/optim/sgd.hpp>
#include <zero/passes.hpp>
#include <zero/plan/plan.hpp>
#include <zero/policy/model_precision.hpp>
#include <zero/policy/policy_set.hpp>
#include <zero/training.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace zero::inline ZERO_ABI {

/// Shards the training of a model. Write `ZeroEngine<Model, policies...>`, which names this class.
///
/// An engine owns the memory of the parameters, gradients and optimizer state of one rank, gathers
/// and reduces them as its stage says, and updates them. User code opens the units of its container
/// for the time it computes with them (`forward`, `backward`), in the order of the container's
/// program, and calls `step` after the micro-steps of a step. The loop is the same for every stage.
///
/// Cost: `pools()` bytes of memory a rank, known beforehand by `zero::plan<Engine>`; bytes sent a
/// step as in docs/policies.md. After construction nothing is allocated, except by the calls that
/// say so; no call waits for the device, except those that say "waits". (`Local` on GPUs waits for
/// its peers to have enqueued the same; and on the host the compute queue is the calling thread,
/// which waits where a GPU's stream would.)
///
/// Ranks and threads: construction, passes and steps are collective; every rank makes the same
/// calls in the same order, from one thread a rank. What only tells something (`rank`, `plan`,
/// `pools`, ...) is not collective and throws nothing but bad_alloc. Several engines may live in
/// one process, each with a communicator of its own.
///
/// Errors: a call that the program does not expect throws logic_error and fails on every rank; so
/// does an exception that leaves a lease, a pass or a loop. Any failure on one rank makes the next
/// call on every rank throw: there the failure itself, elsewhere peer_error, which names the rank.
/// From then on every call throws it; the engine is unusable afterwards, and `completed_steps` says
/// how far it came. Leases, passes and loops over micro-steps must end before the engine is moved
/// or destroyed; an engine that was moved from may only be destroyed or assigned to. See
/// examples/01_quickstart.cpp.
template <class Model, class Policies>
class basic_zero_engine : public training<typename detail::engine_setup<Model, Policies>::types> {
  using setup = detail::engine_setup<Model, Policies>;
  using base = training<typename setup::types>;
  using core_type = detail::engine_core<typename setup::types>;
  static_assert(detail::check_model_precision<typename setup::precision, Model>::value);

 public:
  /// The user's container.
  using model_type = Model;

  using typename base::communicator_type;
  using typename base::options;

  /// The ZeRO stage, 0 to 3, of the units that no `For` of a `PerUnit` names.
  static constexpr int stage = setup::stage::value;

  /// Lays the model out, allocates, loads every kernel that it can launch, compares the plan with
  /// those of the other ranks, and runs each collective once, small. Parameters are zero until
  /// `initialize`. Collective; waits; ends with a barrier.
  /// @param model         the container; its tensors' addresses are the engine's to set
  /// @param communicator  this rank's end of the world
  /// @param settings      the same on every rank
  /// @param device        arguments of the device, e.g. its ordinal and the compute stream; none
  /// for Host
  /// @throws logic_error for a setting out of range, an element type that the precision does not
  ///         allow, or ranks that disagree; out_of_memory, which names the pool; peer_error when
  ///         another rank fails meanwhile; cuda_error, nccl_error
  template <class... DeviceArguments>
  explicit basic_zero_engine(Model model,
                             communicator_type communicator,
                             options const& settings = {},
                             DeviceArguments&&... device)
      : basic_zero_engine(bound_tag(),
                          std::make_shared<bound_container>(std::move(model)),
                          std::move(communicator),
                          settings,
                          std::forward<DeviceArguments>(device)...) {}

  /// Refuses a communicator of another kind of world, with the one to take.
  template <communicator Other, class... Rest>
    requires(!std::is_convertible_v<Other, communicator_type>)
  basic_zero_engine(Model, Other&&, Rest&&...)
      : base(nullptr, nullptr) {
    static_assert(std::is_same_v<Other, communicator_type>,
                  "zero::ZeroEngine: this communicator is not of the engine's communicator and "
                  "device; for Local run the ranks by zero::Local::run, for Local with Cuda by "
                  "zero::local_gpu_world::run, and for Nccl take zero::Nccl::from_environment().");
  }

  /// Takes over the engine, with no lease, pass or loop open; the other may only be destroyed or
  /// assigned to.
  basic_zero_engine(basic_zero_engine&&) noexcept = default;

  /// The same; what this engine was before is destroyed.
  basic_zero_engine& operator=(basic_zero_engine&&) noexcept = default;

  /// The memory plan of one rank of `world`: layout and pools, no schedule. For models of static
  /// shapes a constant expression; see `zero::plan`. Linear in the parameters.
  /// @param model     the container with its shapes
  /// @param world     the number of ranks, 1 or more
  /// @param settings  as the constructor's
  /// @throws logic_error for a setting out of range
  [[nodiscard]] static constexpr execution_plan plan_for(Model const& model,
                                                         int world,
                                                         options const& settings = {}) {
    auto layout = describe(model);
    return make_memory_plan(std::move(layout.parameters),
                            layout.units,
                            make_program(model),
                            setup::config(model, world, settings));
  }

  // --- leases

  /// Opens a unit in the forward phase. Collective: every rank opens every unit of the program, in
  /// its order. What the user enqueues on the compute stream afterwards finds the parameters there.
  /// @param pointer  the member of the container, e.g. `&Model::layers`
  /// @param index    which element, of a member that is a sequence
  /// @return the lease; the unit is open as long as it lives
  /// @throws logic_error for an index out of range; and when the program expects something else:
  ///         the sentence names both
  template <class Member>
  [[nodiscard]] auto forward(Member Model::* pointer, std::int64_t index = 0) {
    using object = unit_type_t<Member>;
    auto const unit = unit_of(pointer, index);
    this->begin_lease();
    return ForwardLease<core_type, object>(
        this->core(), unit, *static_cast<object const*>(value_at(unit)));
  }

  /// Opens a unit in the backward phase, as `forward` does, with its gradients. Its reduction
  /// begins with the last close of the unit in the pass. Collective.
  /// @throws logic_error as `forward` does
  template <class Member>
  [[nodiscard]] auto backward(Member Model::* pointer, std::int64_t index = 0) {
    using object = unit_type_t<Member>;
    auto const unit = unit_of(pointer, index);
    this->begin_lease();
    return BackwardLease<core_type, object>(
        this->core(),
        unit,
        *static_cast<object const*>(value_at(unit)),
        *static_cast<object*>(container_->gradient_units[static_cast<std::size_t>(unit)]));
  }

  /// Visits a unit without using it: an open and a close of the phase the program is in. In the
  /// backward phase its gradient is zero. Collective, as `forward` and `backward` are.
  /// @throws logic_error as `forward` does
  template <class Member>
  void skip(Member Model::* pointer, std::int64_t index = 0) {
    auto const unit = unit_of(pointer, index);
    this->begin_lease();
    auto const ph = this->core().cursor().next_phase();
    this->core().open(unit, ph);
    this->core().close(unit, ph);
  }

  // --- evaluation

  /// Begins a pass that only reads parameters. Allowed between passes, so also in the loop over the
  /// micro-steps, before the first lease of a turn or after its last. Collective. Bytes sent: in
  /// stages 1 and 2 the publish, if a step ran before; in stage 3 the gathers of the forward phase.
  /// @throws logic_error inside a pass
  [[nodiscard]] EvaluationPass<basic_zero_engine> evaluation() {
    return EvaluationPass<basic_zero_engine>(*this);
  }

 private:
  /// The user's container, and one like it whose tensors point to gradients, at addresses that do
  /// not change.
  struct bound_container {
    explicit bound_container(Model model)
        : values(std::move(model)),
          gradients(values),
          value_units(unit_addresses(values)),
          gradient_units(unit_addresses(gradients)) {}

    Model values;
    Model gradients;
    std::vector<void*> value_units;     // the object of each unit
    std::vector<void*> gradient_units;  // the same of the gradients
  };

  /// Tells the constructor below from the public one, whatever the arguments convert to.
  struct bound_tag {
    explicit bound_tag() = default;
  };

  template <class... DeviceArguments>
  basic_zero_engine(bound_tag /*tag*/,
                    std::shared_ptr<bound_container> container,
                    communicator_type communicator,
                    options const& settings,
                    DeviceArguments&&... device)
      : base(container,
             setup::make_core(container->values,
                              container->gradients,
                              std::move(communicator),
                              settings,
                              std::forward<DeviceArguments>(device)...)),
        container_(container.get()) {}

  template <class Member>
  [[nodiscard]] std::int32_t unit_of(Member Model::* pointer, std::int64_t index) const {
    return find_unit(container_->values, pointer, index);
  }

  [[nodiscard]] void const* value_at(std::int32_t unit) const {
    return container_->value_units[static_cast<std::size_t>(unit)];
  }

  bound_container* container_;  // the base's
};

/// A number of ranks as a type, for `plan`.
template <int Ranks>
struct world_of {
  static constexpr int ranks = Ranks;  ///< how many
};

/// `zero::world<8>`: eight ranks.
template <int Ranks>
inline constexpr world_of<Ranks> world{};

/// The memory plan of an engine whose container has static shapes, before anything exists: a
/// constant expression, so that a program can refuse to compile when it would not fit.
///
///     static_assert(zero::plan<Engine>(zero::world<8>).device_bytes() < 80_GiB);
///
/// @throws logic_error for a container that its default constructor leaves without elements
template <class Engine, int Ranks>
[[nodiscard]] constexpr execution_plan plan(world_of<Ranks> /*world*/) {
  auto plan = Engine::plan_for(typename Engine::model_type{}, Ranks);
  precondition(
      !plan.layout.ranges.empty(),
      "zero::plan: the container has no elements when it is default-constructed; plan one that "
      "has its shapes by zero::plan<Engine>(model, ranks)");
  return plan;
}

/// The memory plan of an engine for `ranks` ranks of a container with run-time shapes.
template <class Engine>
[[nodiscard]] constexpr execution_plan plan(typename Engine::model_type const& model,
                                            int ranks,
                                            typename Engine::options const& settings = {}) {
  return Engine::plan_for(model, ranks, settings);
}

}  // namespace zero::inline ZERO_ABI
