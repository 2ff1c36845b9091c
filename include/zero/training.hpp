// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>
#include <zero/core/arithmetic.hpp>
#include <zero/core/error.hpp>
#include <zero/core/traffic.hpp>
#include <zero/detail/engine_core.hpp>
#include <zero/detail/full_access.hpp>
#include <zero/detail/micro_step_loop.hpp>
#include <zero/device/abilities.hpp>
#include <zero/fwd.hpp>
#include <zero/model/program.hpp>
#include <zero/optim/step_progress.hpp>
#include <zero/optim/step_state.hpp>
#include <zero/options.hpp>
#include <zero/parameter_view.hpp>
#include <zero/passes.hpp>
#include <zero/plan/pass_kind.hpp>
#include <zero/plan/placement.hpp>
#include <zero/plan/plan.hpp>
#include <zero/plan/pools.hpp>
#include <zero/trace/timeline.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
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

/// A training whose parameters are sharded: all of an engine that needs no container. It makes
/// steps, says what became of them, captures them, hands out whole parameters, knows its memory.
/// Every front stands on it and adds the way in which its users open units; see `ZeroEngine`, whose
/// comment says what holds for all calls.
/// @tparam Types  device, communicator, optimizer and element types of the engine
template <class Types>
class training {
  using core_type = detail::engine_core<Types>;
  static constexpr bool has_graphs = graph_device<typename core_type::device_type>;

 public:
  /// One rank's end of the world, as the communicator policy and the device make it.
  using communicator_type = typename Types::communicator;

  /// Run-time choices.
  using options = engine_options<typename Types::optimizer>;

  /// This rank, 0 to size() - 1.
  [[nodiscard]] int rank() const { return core_->communicator().rank(); }

  /// The number of ranks.
  [[nodiscard]] int size() const { return core_->communicator().size(); }

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
  [[nodiscard]] MicroSteps<training> micro_steps(std::int64_t count = 1) {
    return MicroSteps<training>(*this, count);
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
    constexpr bool has_streams = stream_ordering_device<typename core_type::device_type, Stream>;
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

  // --- progress

  /// How far the training has come: what a program keeps besides weights and moments to go on
  /// later. The same on every rank. Waits. Not collective.
  /// @throws logic_error inside a pass
  [[nodiscard]] step_progress progress() {
    expect_no_pass("progress");
    return core_->progress();
  }

  /// Goes on from a progress, of this engine or of another one: the step counters, and the loss
  /// scale where there is one (an engine without loss scaling gives 1: set it to what this one
  /// shall begin with). Weights and moments stay. Waits. Not collective, but every rank must do it
  /// with the same numbers.
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
                        row.in == tier::device ? Types::tier : name(row.in),
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

 protected:
  /// Made by a front.
  /// @param container  what the core points into; it is kept for as long as the core lives
  training(std::shared_ptr<void> container, std::unique_ptr<core_type> core)
      : container_(std::move(container)),
        core_(std::move(core)) {}

  /// Takes over the training, with no lease, pass or loop open.
  training(training&&) noexcept = default;

  /// The same; what this was before is destroyed.
  training& operator=(training&& other) noexcept {
    core_ = std::move(other.core_);  // what was points into what it is kept with
    container_ = std::move(other.container_);
    loop_ = other.loop_;
    return *this;
  }

  ~training() = default;

  /// Where leases go.
  [[nodiscard]] core_type& core() const { return *core_; }

  /// A lease is about to be opened: the pass of the turn begins, if it has not begun.
  void begin_lease() { loop_.begin_pass(); }

 private:
  template <class>
  friend class MicroSteps;
  template <class>
  friend class EvaluationPass;

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
    precondition(
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

  std::shared_ptr<void> container_;  // outlives the core
  std::unique_ptr<core_type> core_;
  detail::micro_step_loop<core_type> loop_{*core_};
};

}  // namespace zero::inline ZERO_ABI
