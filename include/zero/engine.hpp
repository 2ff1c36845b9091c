// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>
#include <zero/comm/local.hpp>
#include <zero/core/arithmetic.hpp>
#include <zero/core/error.hpp>
#include <zero/core/traffic.hpp>
#include <zero/detail/engine_core.hpp>
#include <zero/detail/engine_setup.hpp>
#include <zero/detail/full_access.hpp>
#include <zero/detail/micro_step_loop.hpp>
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
#include <zero/optim/step_state.hpp>
#include <zero/options.hpp>
#include <zero/passes.hpp>
#include <zero/plan/plan.hpp>
#include <zero/policy/model_precision.hpp>
#include <zero/policy/policy_set.hpp>
#include <zero/trace/timeline.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace zero::inline ZERO_ABI {

/// What became of a step: applied or skipped and why, norm, clip factor, loss scale in force.
using StepResult = step_record;

/// A step, or micro-steps with their step, as the device's graph. For `replay` on the engine that
/// captured it, while that engine lives.
template <class Graph>
struct CapturedStep {
  Graph graph;                   ///< the device's, ready to be launched
  std::int64_t micro_steps = 0;  ///< inside the graph; 0: the step alone
  std::int64_t result_slot = 0;  ///< where in the ring of results its step's record goes
};

/// Bytes of one pool of one rank.
struct pool_bytes {
  char const* name = "";             ///< purpose, e.g. "optimizer"
  char const* tier = "";             ///< memory it lies in, e.g. "device"
  std::int64_t planned_bytes = 0;    ///< by the plan, before anything was allocated
  std::int64_t allocated_bytes = 0;  ///< by the allocation call
};

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
class basic_zero_engine {
  using setup = detail::engine_setup<Model, Policies>;
  using core_type = detail::engine_core<typename setup::types>;
  static_assert(detail::check_model_precision<typename setup::precision, Model>::value);
  static constexpr bool has_graphs =
      requires(typename core_type::device_type& device) { device.begin_capture(); };

 public:
  /// The user's container.
  using model_type = Model;

  /// One rank's end of the world, as the communicator policy and the device make it.
  using communicator_type = typename setup::types::communicator;

  /// Run-time choices.
  using options = engine_options<typename setup::optimizer>;

  /// The ZeRO stage, 0 to 3.
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
      : model_(std::make_unique<Model>(std::move(model))),
        gradients_(std::make_unique<Model>(*model_)),
        values_(unit_addresses(*model_)),
        gradient_values_(unit_addresses(*gradients_)),
        core_(setup::make_core(*model_,
                               *gradients_,
                               std::move(communicator),
                               settings,
                               std::forward<DeviceArguments>(device)...)) {}

  /// Refuses a communicator of another kind of world, with the one to take.
  template <communicator Other, class... Rest>
    requires(!std::is_convertible_v<Other, communicator_type>)
  basic_zero_engine(Model, Other&&, Rest&&...) {
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

  /// This rank, 0 to size() - 1.
  [[nodiscard]] int rank() const { return core_->communicator().rank(); }

  /// The number of ranks.
  [[nodiscard]] int size() const { return core_->communicator().size(); }

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

  // --- values

  /// Sets the parameters from a function and starts training anew: moments, step count and loss
  /// scale as before the first step. `fill(view, first, values)` writes the values of elements
  /// `first ... first + values.size() - 1` of parameter `view` and is called for what this rank
  /// holds, in windows of at most 64 Ki elements; called with the same values for every number of
  /// ranks and stage if it depends on the view and the element only. Waits; allocates its
  /// window. Not collective, but every rank must do it. An exception that leaves `fill` passes, and
  /// ends the run on every rank.
  /// @throws logic_error inside the loop over the micro-steps, or inside a pass
  template <class Fill>
  void initialize(Fill&& fill) {
    loop_.expect_none("initialize");
    expect_no_pass("initialize");
    core_->reset_optimizer();
    or_abandon("initialize", [&] { detail::full_access(*core_).write(std::forward<Fill>(fill)); });
    static_cast<void>(loop_.take());  // those were of the parameters before
  }

  /// Sets the parameters from a function as `initialize` does, and keeps the optimizer's state.
  /// Waits; allocates its window. Not collective, but every rank must do it.
  /// @throws logic_error inside a pass
  template <class Fill>
  void set_full(Fill&& fill) {
    expect_no_pass("set_full");
    or_abandon("set_full", [&] { detail::full_access(*core_).write(std::forward<Fill>(fill)); });
  }

  /// Reads whole parameters, one after the other: `read(view, first, values)` is called on every
  /// rank with successive windows of at most 64 Ki elements of each parameter, as FP32 (the master,
  /// where there is one). Collective; waits; allocates its window. Bytes sent: those of the
  /// masters. An exception that leaves `read` passes, and ends the run on every rank.
  /// @throws logic_error inside a pass
  template <class Read>
  void full(Read&& read) {
    expect_no_pass("full");
    or_abandon("full", [&] { detail::full_access(*core_).read(std::forward<Read>(read)); });
  }

  /// Hash of the FP32 masters: the sum modulo 2^64 of a mixed hash of (name, element, bits), the
  /// same on every rank, for every layout of equal values. Costs what `full` does. Collective;
  /// waits; allocates.
  /// @throws logic_error inside a pass
  [[nodiscard]] std::uint64_t parameters_hash() {
    expect_no_pass("parameters_hash");
    return detail::full_access(*core_).masters_hash();
  }

  /// The same hash over the parameters in their own type as each rank gathers them; an evaluation
  /// pass, and the parameters copied to the host. Collective; waits; allocates.
  /// @throws logic_error when the ranks differ, or inside a pass
  [[nodiscard]] std::uint64_t replica_hash() {
    std::uint64_t hash = 0;
    begin_evaluation();
    std::vector<char> seen(static_cast<std::size_t>(core_->plan().layout.model_units), char{0});
    detail::full_access access(*core_);
    visit_rest([&](std::int32_t unit) {
      auto& done = seen[static_cast<std::size_t>(unit)];
      if (done == 0) {
        access.add_replica_hash(unit, hash);
        done = 1;
      }
    });
    end_evaluation();
    std::vector<std::uint64_t> all(static_cast<std::size_t>(size()));
    core_->exchange().gather_bytes(&hash, sizeof hash, all.data(), "comparison of replicas");
    for (auto const h : all) {
      if (h != all.front()) {
        throw logic_error(
            "zero::ZeroEngine: the ranks hold different parameters; report this as a "
            "defect of zero.");
      }
    }
    return hash;
  }

  // --- a step

  /// The micro-steps of one step; iterate over it once, to its end. `count` must be equal on all
  /// ranks. An exception that leaves the loop passes, and ends the run on every rank; so does
  /// leaving it otherwise while something is still to come, see `MicroSteps`.
  /// @throws logic_error for a count below 1
  [[nodiscard]] MicroSteps<basic_zero_engine> micro_steps(std::int64_t count = 1) {
    return MicroSteps<basic_zero_engine>(*this, count);
  }

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
    loop_.begin_pass();
    return ForwardLease<core_type, object>(
        *core_, unit, *static_cast<object const*>(value_at(unit)));
  }

  /// Opens a unit in the backward phase, as `forward` does, with its gradients. Its reduction
  /// begins with the last close of the unit in the pass. Collective.
  /// @throws logic_error as `forward` does
  template <class Member>
  [[nodiscard]] auto backward(Member Model::* pointer, std::int64_t index = 0) {
    using object = unit_type_t<Member>;
    auto const unit = unit_of(pointer, index);
    loop_.begin_pass();
    return BackwardLease<core_type, object>(
        *core_,
        unit,
        *static_cast<object const*>(value_at(unit)),
        *static_cast<object*>(gradient_values_[static_cast<std::size_t>(unit)]));
  }

  /// Visits a unit without using it: an open and a close of the phase the program is in. In the
  /// backward phase its gradient is zero. Collective, as `forward` and `backward` are.
  /// @throws logic_error as `forward` does
  template <class Member>
  void skip(Member Model::* pointer, std::int64_t index = 0) {
    auto const unit = unit_of(pointer, index);
    loop_.begin_pass();
    auto const ph =
        core_->cursor().active() && core_->cursor().expects({unit, phase::backward, true})
            ? phase::backward
            : phase::forward;
    core_->open(unit, ph);
    core_->close(unit, ph);
  }

  /// Completes a step: norm, agreement of all ranks, clipping, update, or a skip. Returns as soon
  /// as everything is enqueued; on the host, when this rank's share is updated. Collective; `lr`
  /// and the scales of `numbers` must be equal on all ranks.
  /// @throws logic_error for a learning rate that is negative or not finite (the engine stays as it
  ///         is); before or inside the loop over the micro-steps, or inside a pass
  void step(step_options const& numbers = {}) {
    check_numbers(numbers);
    loop_.expect_none("step");
    bool const alone = core_->capturing() && loop_.ended() == 0;
    auto const count = loop_.take();
    core_->step(numbers,
                alone && count == 0 ? 1 : count);  // a step alone is captured with any count
  }

  /// What became of the latest step, the same on every rank. Waits for it, and for all else that is
  /// enqueued. Not collective.
  /// @throws logic_error before the first step
  /// @throws numeric_error when the loss scale would fall below its minimum and `at_floor::raise`
  /// is set
  [[nodiscard]] StepResult result() { return core_->result(); }

  /// The number of the latest step that this rank has behind it, as in `StepResult::step`; 0 before
  /// the first one. The rank's parameters and moments are those after that step; a skipped step is
  /// counted and leaves them as they were. To be asked at any time, above all after an error, for
  /// what to report or where to resume. Waits as `result` does, but throws nothing. Not collective.
  ///
  /// After an error: no later step is behind this rank, but the next one may have updated some
  /// units. It is exact on the host, and on GPUs with `Local` as long as the GPU itself has no
  /// fault. Otherwise (`Nccl`, which cuts short what is in flight, and faults of the GPU) it is the
  /// latest step that a call which waits (`result`, `mean`, `full`, ...) has seen complete; later
  /// ones may have been. Ranks may differ by one where it is exact: one may have updated its share
  /// of a step in which another one failed. While a step is captured: as before the capture.
  [[nodiscard]] std::int64_t completed_steps() noexcept { return core_->completed_steps(); }

  /// Whether this rank or, as far as it has heard, another one has failed: every call but those
  /// that only tell something throws the failure. Does not wait. Not collective.
  [[nodiscard]] bool failed() const noexcept { return core_->failed(); }

  /// Where the loss scale of the current step lies in device memory, as long as the engine lives; 1
  /// without loss scaling. The user's loss kernel multiplies the gradient of the loss by it.
  [[nodiscard]] float const* loss_scale() const { return core_->loss_scale(); }

  /// Captures a step, or k micro-steps with their step, as one graph: `issue` makes the calls,
  /// which are recorded and not run. The numbers of the step may change between replays; where
  /// `issue` holds the step alone, the number of micro-steps too. The first pass inside publishes,
  /// whatever ran before. Devices with graphs only, states on the device, `Nccl` with one GPU a
  /// process or `Local` with one rank. Allocates; replays do not. Collective.
  /// @throws logic_error when `issue` does not make exactly one step, or makes a call that waits, a
  ///         capture or a replay; inside the loop over the micro-steps. What leaves `issue` passes,
  ///         and ends the run on every rank
  template <class Issue>
  [[nodiscard]] auto capture(Issue&& issue) {
    static_assert(has_graphs,
                  "zero::ZeroEngine: capture needs a device with graphs, i.e. the policy "
                  "zero::Cuda; zero::Host has none: make the calls themselves each time, without "
                  "capture and replay.");
    if constexpr (has_graphs) {  // else one error is enough
      loop_.expect_none("capture");
      auto const pending = loop_.take();
      std::int64_t inside = 0;
      auto graph = core_->capture([&] {
        loop_.restart(pending);
        issue();
        inside = loop_.ended();
      });
      loop_.restart(pending);
      return CapturedStep<decltype(graph)>{std::move(graph), inside, core_->captured_slot()};
    } else {
      return CapturedStep<int>{};
    }
  }

  /// Runs a captured step once, as `step` would; where it was captured alone, after a loop over
  /// micro-steps. Collective.
  /// @throws logic_error as `step` does; for micro-steps that the graph holds besides those of a
  ///         loop before it
  template <class Graph>
  void replay(CapturedStep<Graph> const& captured, step_options const& numbers = {}) {
    check_numbers(numbers);
    loop_.expect_none("replay");
    if constexpr (has_graphs) {  // else capture has said what is wrong
      auto const pending = loop_.take();
      if (captured.micro_steps > 0 && pending > 0) {
        core_->fail_misuse(
            "micro-steps with their step were replayed after a loop over micro-steps; call step "
            "after the loop");
      }
      if (captured.micro_steps == 0 && pending == 0) {
        core_->fail_misuse(
            "a step alone was replayed before any micro-step; loop over engine.micro_steps(k) "
            "first");
      }
      core_->replay(captured.graph,
                    captured.result_slot,
                    numbers,
                    captured.micro_steps > 0 ? captured.micro_steps : pending);
    }
  }

  /// Makes a stream of the user's wait for everything that the engine has enqueued so far, e.g.
  /// before collectives of the user's own. Not a host wait; three events. Devices with streams
  /// only. Not collective. Throws nothing; a failure is thrown by the next call.
  template <class Stream>
  void join(Stream stream) {
    constexpr bool has_streams =
        requires(typename core_type::device_type& device) { device.make_wait(stream); };
    static_assert(has_streams,
                  "zero::ZeroEngine: join takes a stream of the engine's device, e.g. a "
                  "cudaStream_t with zero::Cuda; zero::Host has none: call result(), which returns "
                  "when all that the engine has enqueued is done.");
    if constexpr (has_streams) {  // else one error is enough
      core_->join(stream);
    }
  }

  /// Records when each operation and each visit began and ended on its queue, up to `most` of them;
  /// the calls that follow pay two time stamps each. Waits; allocates. Not collective.
  /// @throws logic_error for a negative number
  void start_timeline(std::int64_t most = 65536) { core_->start_timeline(most); }

  /// Ends recording and returns what was recorded, by queue: compute, communication, reduction.
  /// Waits; allocates. Not collective. `zero::trace_json(entries, rank())` is what Perfetto opens.
  /// @throws logic_error without a `start_timeline` before it
  [[nodiscard]] std::vector<timeline_entry> stop_timeline() { return core_->stop_timeline(); }

  // --- evaluation

  /// Begins a pass that only reads parameters. Allowed between passes, so also in the loop over the
  /// micro-steps, before the first lease of a turn or after its last. Collective. Bytes sent: in
  /// stages 1 and 2 the publish, if a step ran before; in stage 3 the gathers of the forward phase.
  /// @throws logic_error inside a pass
  [[nodiscard]] EvaluationPass<basic_zero_engine> evaluation() {
    return EvaluationPass<basic_zero_engine>(*this);
  }

  // --- progress

  /// How far the training has come: what a program keeps besides weights and moments to go on
  /// later. The same on every rank. Waits. Not collective.
  /// @throws logic_error inside a pass
  [[nodiscard]] step_progress progress() {
    expect_no_pass("progress");
    return core_->progress();
  }

  /// Goes on from a progress, of this engine or of another one: the step counters, and the loss
  /// scale where there is one. Weights and moments stay. Waits. Not collective, but every rank must
  /// do it with the same numbers.
  /// @throws logic_error inside the loop over the micro-steps, or inside a pass; for counters that
  ///         contradict each other
  void set_progress(step_progress const& progress) {
    loop_.expect_none("set_progress");
    expect_no_pass("set_progress");
    check(progress);
    core_->set_progress(progress);
  }

  /// Mean of a number over the ranks, added in rank order; the same on every rank. 8 bytes a rank.
  /// Collective; waits.
  /// @throws logic_error inside a pass
  [[nodiscard]] double mean(double value) {
    expect_no_pass("mean");
    return core_->exchange().mean(value);
  }

  // --- what is known

  /// The plan: layout, pools, program, segments.
  [[nodiscard]] execution_plan const& plan() const { return core_->plan(); }

  /// Bytes of each pool of this rank, planned and allocated, in the plan's order.
  [[nodiscard]] std::vector<pool_bytes> pools() const {
    std::vector<pool_bytes> list;
    for (auto const& row : plan().pools.rows) {
      if (row.in == tier::device || row.bytes > 0) {
        list.push_back({name(row.purpose),
                        row.in == tier::device ? setup::tier : name(row.in),
                        row.bytes,
                        core_->memory().allocated_bytes(row.purpose, row.in)});
      }
    }
    return list;
  }

  /// Bytes of states, gradients, slots and pieces by the closed form, padding not counted.
  [[nodiscard]] std::int64_t formula_bytes() const { return plan().formula_bytes(); }

  /// Collectives and bytes that this rank has sent since its communicator was made, construction
  /// included. Of what was enqueued: exact after a call that waits.
  [[nodiscard]] zero::traffic traffic() const { return core_->communicator().counters(); }

  /// Names, shapes and traits of the parameters, in order.
  [[nodiscard]] std::vector<parameter_view> const& parameters() const {
    return core_->model().parameters;
  }

 private:
  template <class>
  friend class MicroSteps;
  template <class>
  friend class EvaluationPass;

  template <class Member>
  [[nodiscard]] std::int32_t unit_of(Member Model::* pointer, std::int64_t index) const {
    return find_unit(*model_, pointer, index);
  }

  [[nodiscard]] void const* value_at(std::int32_t unit) const {
    return values_[static_cast<std::size_t>(unit)];
  }

  void announce_micro_step(pass_kind pass) { loop_.announce(pass); }

  void end_micro_step(std::int64_t completed) { loop_.end_turn(completed); }

  void leave_micro_steps(MicroStep at, bool unwinding) noexcept {
    loop_.leave(at.index, at.count, unwinding);
  }

  void begin_evaluation() {
    loop_.complete_pass();
    core_->begin_pass({false, false, false, false});
  }

  void end_evaluation() { core_->end_pass(); }

  void abandon(char const* what) noexcept { core_->abandon(what); }

  /// Goes through the rest of an evaluation pass and calls `visit(unit)` for each unit it opens.
  template <class Visit>
  void visit_rest(Visit&& visit) {
    auto const& tokens = core_->plan().program.forward;
    while (!core_->cursor().finished()) {
      auto const& token = tokens[static_cast<std::size_t>(core_->cursor().position())];
      if (token.open) {
        core_->open(token.unit, phase::forward);
        visit(token.unit);
      } else {
        core_->close(token.unit, phase::forward);
      }
    }
  }

  void follow() {
    visit_rest([](std::int32_t) {});
  }

  /// Numbers that would spoil the parameters are refused before anything is done.
  static void check_numbers(step_options const& numbers) {
    expects(
        !numbers.lr || (is_finite(*numbers.lr) && *numbers.lr >= 0),
        "zero::ZeroEngine: the learning rate of a step must be finite and not negative; leave it "
        "out for that of the optimizer's options");
  }

  /// Runs what calls a function of the user's between collectives: the other ranks must not wait
  /// for a rank whose function threw, nor go on with values that it did not finish.
  template <class Work>
  void or_abandon(char const* call, Work&& work) {
    try {
      work();
    } catch (...) {
      core_->abandon(std::string("an exception passed through ") + call);
      throw;
    }
  }

  void expect_no_pass(char const* call) {
    core_->check();
    loop_.complete_pass();
    if (core_->in_pass()) {
      throw logic_error(std::string("zero::ZeroEngine: ") + call +
                        " was called inside a pass; end the pass first.");
    }
  }

  std::unique_ptr<Model> model_;      // on the heap, so that tensors stay where the core knows them
  std::unique_ptr<Model> gradients_;  // the same container, pointing to gradients
  std::vector<void*> values_;
  std::vector<void*> gradient_values_;
  std::unique_ptr<core_type> core_;
  detail::micro_step_loop<core_type> loop_{*core_};
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
  expects(!plan.layout.ranges.empty(),
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
